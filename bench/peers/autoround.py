#!/usr/bin/env python3
"""AutoRound of a whole model: quench beside the package auto-round, same model, same ids, same grids, same steps.

  autoround.py --quench build/release/bin/quench --model FOLDER --ids FILE --text FILE [--bits 4 3 2] [--group 32] [--sym false]
               [--rows 128] [--steps 200] [--seeds 3] [--threads 2] [--block 128]

Run it with the python of `bench/peers/setup FOLDER PYTHON autoround`. FOLDER is a model with its tokenizer, FILE of --ids has a tensor
[rows, length]. Both sides: float32, scales in float32 or wider, 8 rows a step, the float model's outputs as target, the best step
kept, the output head in float. The package's weights are saved (format fake) and measured by quench like its own: the
validation loss on --text, and its relative increase, which rounding to nearest has, too. Seeds choose the rows of a step. Seconds
are those of quantizing alone; on a busy machine only processor seconds mean something.

The package needs torch up to 2.11: later ones give a code at an end of its grid no derivative (torch.clamp), and its losses differ.
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

from gptq_pass import finished, timed


def ids_of(path, rows):
    from safetensors.numpy import load_file
    return next(iter(load_file(path).values()))[:rows]


def child(arguments):
    import auto_round
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    torch.set_num_threads(arguments.threads)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    ids = torch.from_numpy(ids_of(arguments.ids, arguments.rows)).long()
    work = auto_round.AutoRound(
        model, tokenizer=AutoTokenizer.from_pretrained(arguments.model), bits=arguments.bits[0], group_size=arguments.group,
        sym=arguments.sym, iters=arguments.steps, nsamples=len(ids), seqlen=ids.shape[1], batch_size=8, seed=arguments.seeds,
        dataset=[row.unsqueeze(0) for row in ids], device_map="cpu", amp=False, scale_dtype="fp32", enable_torch_compile=False)
    return timed(lambda: work.quantize_and_save(arguments.out, format="fake")) | {
        "versions": f"auto-round {auto_round.__version__}, torch {torch.__version__}"}


def loss_of(answer, quantized):
    return next(r for r in json.loads(answer)["data"]["records"]
                if bool(r.get("quantizer")) == quantized and r["metric"] == "validation_loss")


def evaluated(arguments, model, *more):
    answer, _ = finished([arguments.quench, "eval", model, "--json", "--threads", str(arguments.threads), "--metric",
                          f"validation_loss:text={arguments.text},block={arguments.block}", *more], None)
    return answer


def ours(arguments, method, bits, seed, **options):
    text = "".join(f",{name}={value}" for name, value in options.items())
    quantizer = f"{method}:bits={bits},group_size={arguments.group},sym={str(arguments.sym).lower()}{text}"
    record = loss_of(evaluated(arguments, arguments.model, "--quantizer", quantizer, "--calibration", f"tokens={arguments.rows_file}",
                               "--seed", str(seed)), True)
    return record["value"], record["details"].get("pass_cpu_seconds", {}).get("all", 0)


def peer(arguments, bits, seed):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = finished([sys.executable, __file__, "--child", "--out", folder, *sys.argv[1:], "--bits", str(bits), "--seeds", str(seed)],
                          None)
        run = json.loads(out.splitlines()[-1])
        saved = next(path.parent for path in Path(folder).rglob("config.json"))
        return loss_of(evaluated(arguments, str(saved)), False)["value"], run["cpu"], run["versions"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--quench", "--text"):
        parser.add_argument(name)
    parser.add_argument("--model", required=True)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--bits", type=int, nargs="+", default=[4, 3, 2])
    parser.add_argument("--sym", type=lambda text: text == "true", default=False)
    for name, default in (("group", 32), ("rows", 128), ("steps", 200), ("seeds", 3), ("threads", 2), ("block", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print("\n" + json.dumps(child(arguments)))
        return
    from safetensors.numpy import save_file
    ids = ids_of(arguments.ids, arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        arguments.rows_file = f"{folder}/ids.safetensors"
        save_file({"ids": ids}, arguments.rows_file)
        plain = loss_of(evaluated(arguments, arguments.model), False)["value"]
        print(f"float {plain:.5f}; {len(ids)} rows of {ids.shape[1]} ids, {arguments.steps} steps", flush=True)
        for bits in arguments.bits:
            nearest, _ = ours(arguments, "rtn", bits, 0)
            gptq, gptq_cpu = ours(arguments, "gptq", bits, 0)
            print(f"{bits} bits: rtn {nearest / plain - 1:.3%}, gptq {gptq / plain - 1:.3%} in {gptq_cpu:.1f} s cpu", flush=True)
            for seed in range(arguments.seeds):
                own, own_cpu = ours(arguments, "autoround", bits, seed, iterations=arguments.steps, batch_tokens=8 * ids.shape[1])
                theirs, their_cpu, versions = peer(arguments, bits, seed)
                print(f"  seed {seed}: quench {own / plain - 1:.3%} in {own_cpu:.1f} s cpu, package {theirs / plain - 1:.3%} in "
                      f"{their_cpu:.1f} s cpu ({versions})", flush=True)


if __name__ == "__main__":
    main()
