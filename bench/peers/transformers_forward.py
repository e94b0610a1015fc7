#!/usr/bin/env python3
"""Forward per family and time to first loss: quench beside eager transformers, processor seconds.

  transformers_forward.py --quench build/release/bin/quench [--families llama,olmo2] [--rounds 2] [--threads 1] [--work FOLDER]
  transformers_forward.py --quench build/release/bin/quench --load GIGABYTES

Run it with the python of the environment that bench/peers/setup makes. Makes a model of each family with random weights
(8 blocks of width 512, 16384 ids), lets both programs take the loss of the same 4 x 512 ids in float32, in turn, and prints
tokens a processor second: of quench's whole process less that of a run over a single block of ids, of transformers' forward
alone. --load makes a Llama of that size instead and prints how long each takes from its start to the loss of 64 ids.
"""
import argparse, json, os, resource, subprocess, sys, tempfile, time

ROWS, LENGTH = 4, 512
COMMON = dict(vocab_size=16384, hidden_size=512, num_hidden_layers=8, num_attention_heads=8, intermediate_size=1536,
              max_position_embeddings=1024, tie_word_embeddings=False)
FAMILIES = {
    "gpt_neox": ("GPTNeoXConfig", dict(rotary_pct=0.25)),
    "llama": ("LlamaConfig", {}),
    "olmo": ("OlmoConfig", dict(clip_qkv=8.0)),
    "olmo2": ("Olmo2Config", {}),
    "olmoe": ("OlmoeConfig", dict(num_experts=8, num_experts_per_tok=2, intermediate_size=512)),
    "smollm3": ("SmolLM3Config", dict(num_key_value_heads=2, pad_token_id=None, bos_token_id=0, eos_token_id=0)),
    "apertus": ("ApertusConfig", dict(num_key_value_heads=2, pad_token_id=None)),
}


def make(folder, family, **more):
    import torch, transformers
    from safetensors.torch import save_file
    name, own = FAMILIES[family]
    torch.manual_seed(0)
    config = getattr(transformers, name)(**{**COMMON, **own, **more})
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder, max_shard_size="100GB")
    ids = torch.randint(0, 16384, (ROWS, LENGTH), dtype=torch.int32)
    save_file({"ids": ids}, f"{folder}/all.ids")
    save_file({"ids": ids[:1, :64].contiguous()}, f"{folder}/few.ids")


def child(arguments):
    """What a user of transformers writes."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(arguments.threads)
    model = AutoModelForCausalLM.from_pretrained(arguments.child, dtype=torch.float32, attn_implementation="eager").eval()
    ids = load_file(arguments.ids)["ids"].long()
    with torch.no_grad():
        if len(ids) > 1:
            model(ids[:1], use_cache=False)  # warm, as quench's second run is
        cpu, wall = time.process_time(), time.monotonic()
        loss = sum(model(row[None], labels=row[None], use_cache=False).loss.item() for row in ids) / len(ids)
    print(json.dumps({"loss": loss, "cpu": time.process_time() - cpu, "wall": time.monotonic() - wall}))


def run(command, arguments):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    out = subprocess.run(command, check=True, capture_output=True, text=True,
                         env={**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "HF_HUB_OFFLINE": "1"}).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - began


def ours(folder, ids, block, arguments):
    out, cpu, wall = run([arguments.quench, "eval", folder, "--json", "--threads", str(arguments.threads), "--metric",
                          f"validation_loss:tokens={folder}/{ids},block={block}"], arguments)
    return json.loads(out)["data"]["records"][0]["value"], cpu, wall


def theirs(folder, ids, arguments):
    out, cpu, wall = run([sys.executable, __file__, "--child", folder, "--ids", f"{folder}/{ids}", "--threads", str(arguments.threads)], arguments)
    return json.loads(out.splitlines()[-1]), cpu, wall


def forward(folder, family, arguments):
    best = {"ours": 1e9, "theirs": 1e9}
    for _ in range(arguments.rounds):
        loss, cpu, _ = ours(folder, "all.ids", LENGTH, arguments)
        best["ours"] = min(best["ours"], cpu - ours(folder, "few.ids", 64, arguments)[1])
        other = theirs(folder, "all.ids", arguments)[0]
        best["theirs"] = min(best["theirs"], other["cpu"])
        assert abs(loss - other["loss"]) < 1e-4, (family, loss, other["loss"])
    tokens = ROWS * LENGTH
    print(f"{family:<10} quench {(tokens - 64) / best['ours']:7.0f}  transformers eager {tokens / best['theirs']:7.0f} tokens/cpu s  "
          f"ratio {best['theirs'] / best['ours'] * (tokens - 64) / tokens:.2f}  load {os.getloadavg()[0]:.1f}", flush=True)


def load(folder, arguments):
    size = os.path.getsize(f"{folder}/model.safetensors") / 1e9
    runs = []
    for _ in range(arguments.rounds):
        loss, cpu, wall = ours(folder, "few.ids", 64, arguments)
        other, their_cpu, their_wall = theirs(folder, "few.ids", arguments)
        assert abs(loss - other["loss"]) < 1e-4, (loss, other["loss"])
        runs.append((cpu, wall, their_cpu, their_wall))
    cpu, wall, their_cpu, their_wall = (min(values) for values in zip(*runs))
    print(f"{size:.2f} GB to first loss: quench {wall:.2f} s wall {cpu:.2f} s cpu; transformers {their_wall:.2f} s wall {their_cpu:.2f} s cpu; "
          f"ratios {their_wall / wall:.2f} {their_cpu / cpu:.2f}  load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", default=None)
    parser.add_argument("--load", type=float, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--ids", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        if arguments.load:
            blocks = max(1, round((arguments.load * 1e9 / 4 - 2 * 16384 * 2048) / (4 * 2048**2 + 3 * 2048 * 5632)))
            make(f"{work}/load", "llama", hidden_size=2048, intermediate_size=5632, num_attention_heads=16, num_hidden_layers=blocks)
            return load(f"{work}/load", arguments)
        for family in arguments.families.split(","):
            make(f"{work}/{family}", family)
            forward(f"{work}/{family}", family, arguments)


if __name__ == "__main__":
    main()
