#!/usr/bin/env python3
"""Validation loss: quench beside transformers (scaled dot product attention), same model, same ids, same dtype.

  transformers_loss.py --quench build/release/bin/quench --model FOLDER [--tokens FILE] [--rows 4] [--rounds 3] [--threads 2]

Run it with the python of the environment that bench/peers/setup makes. FOLDER and FILE (tensor `ids` [rows, block]) come
from build/release/bench/tools/random_pythia. The two programs run one after the other, A B A B, each in a process of its
own, so that a busy machine hits both. Printed for each: wall and processor (user + system) seconds of the evaluation and
of the whole process, tokens a second, and the ratio of the best runs; a ratio above 1 means that quench is faster.
"""
import argparse, json, os, subprocess, sys, tempfile, time


def measured(command, environment):
    """Runs a command; its standard output, wall and processor seconds, and peak memory in MiB."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{command[0]} failed with {child.returncode}")
        out.seek(0)
        return out.read(), {"process_wall": wall, "process_cpu": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}


def transformers_child(arguments):
    """What a user of transformers writes: load, then one block after the other."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(arguments.threads)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32, attn_implementation="sdpa").eval()
    ids = load_file(arguments.tokens)["ids"].long()
    losses, cpu, wall = [], time.process_time(), time.monotonic()
    with torch.no_grad():
        for row in ids:
            block = row.unsqueeze(0)
            losses.append(model(block, labels=block, use_cache=False).loss.item())
    print(json.dumps({"loss": sum(losses) / len(losses), "wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}))


def quench_run(arguments, environment):
    command = [arguments.quench, "eval", arguments.model, "--json", "--threads", str(arguments.threads),
               "--metric", f"validation_loss:tokens={arguments.tokens},block={arguments.block}"]
    out, run = measured(command, environment)
    record = next(r for r in json.loads(out)["data"]["records"] if r["metric"] == "validation_loss")
    return {"loss": record["value"], "wall": record["seconds"], **run}


def transformers_run(arguments, environment):
    command = [sys.executable, __file__, "--child", "--model", arguments.model, "--tokens", arguments.tokens, "--threads", str(arguments.threads)]
    out, run = measured(command, environment)
    return {**json.loads(out.splitlines()[-1]), **run}


def subset(path, rows):
    """The first rows of the ids in a file of their own, and how long a row is."""
    from safetensors.numpy import load_file, save_file
    ids = load_file(path)["ids"][:rows]
    chosen = tempfile.NamedTemporaryFile(suffix=".safetensors", delete=False)
    save_file({"ids": ids.copy()}, chosen.name)
    return chosen.name, ids.shape


def show(name, runs, tokens):
    best = {key: min(run[key] for run in runs) for key in runs[0]}
    evaluation = f"evaluation {best['wall']:7.2f} s wall {tokens / best['wall']:7.0f} tokens/s"
    if "cpu" in best:
        evaluation += f", {best['cpu']:.2f} s cpu"
    print(f"{name:<13} loss {runs[0]['loss']:.6f}  {evaluation}  process {best['process_wall']:7.2f} s wall {best['process_cpu']:7.2f} s cpu "
          f"{best['peak_mib']:.0f} MiB")
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench")
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.tokens = arguments.tokens or os.path.join(arguments.model, "tokens.safetensors")
    if arguments.child:
        return transformers_child(arguments)
    if not arguments.quench:
        parser.error("--quench: where is the program?")
    arguments.tokens, (rows, arguments.block) = subset(arguments.tokens, arguments.rows)
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "HF_HUB_OFFLINE": "1"}
    ours, theirs = [], []
    try:
        for number in range(arguments.rounds):
            ours.append(quench_run(arguments, environment))
            theirs.append(transformers_run(arguments, environment))
            print(f"round {number + 1}: load {os.getloadavg()[0]:.2f}; wall {ours[-1]['wall']:.2f} and {theirs[-1]['wall']:.2f} s, "
                  f"process cpu {ours[-1]['process_cpu']:.2f} and {theirs[-1]['process_cpu']:.2f} s", flush=True)
    finally:
        os.unlink(arguments.tokens)
    tokens = rows * arguments.block
    print(f"{rows} x {arguments.block} tokens, float32, {arguments.threads} threads, best of {arguments.rounds} alternating runs")
    ours, theirs = show("quench", ours, tokens), show("transformers", theirs, tokens)
    print(f"transformers / quench: evaluation wall {theirs['wall'] / ours['wall']:.2f}, process wall "
          f"{theirs['process_wall'] / ours['process_wall']:.2f}, process cpu {theirs['process_cpu'] / ours['process_cpu']:.2f}")
    print(f"transformers' evaluation cpu / quench's process cpu (start and load included): {theirs['cpu'] / ours['process_cpu']:.2f}")
    difference = abs(ours["loss"] - theirs["loss"])
    print(f"losses differ by {difference:.1e}")
    if difference > 1e-4:
        sys.exit("the losses are not those of the same model")


if __name__ == "__main__":
    main()
