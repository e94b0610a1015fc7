#!/usr/bin/env python3
"""GPTQ of a whole model: quench beside GPTQModel or llm-compressor, same model, same ids, same options.

  gptq_pass.py --quench build/release/bin/quench --model FOLDER --ids FILE --tool gptqmodel|llmcompressor
               [--rows 32] [--rounds 2] [--threads 2] [--bits 4] [--group 128] [--damp 0.01]

Run it with the python of the environment that `bench/peers/setup FOLDER PYTHON TOOL` makes. FOLDER and FILE (tensor `ids`
[rows, length]) come from build/release/bench/tools/random_pythia. All sides: float32, columns as they stand, symmetric
grids of the current weights, the output head in float. The programs run one after the other, A B A B, each in a process
of its own. Printed: wall and processor seconds of quantizing alone and of the whole process, and the ratios of the best
runs; above 1 means that quench is faster. On a busy machine only processor seconds mean something.
"""
import argparse, json, os, subprocess, sys, tempfile, time


def finished(command, environment):
    """Standard output of a command, its wall and processor seconds, and its peak memory in MiB."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{command[0]} failed with {child.returncode}")
        out.seek(0)
        return out.read(), {"process_wall": time.monotonic() - began, "process_cpu": usage.ru_utime + usage.ru_stime,
                            "peak_mib": usage.ru_maxrss / 1024}


def ids_of(path, rows):
    from safetensors.numpy import load_file
    return load_file(path)["ids"][:rows]


def gptqmodel_child(arguments):
    import torch
    from gptqmodel import BACKEND, GPTQModel, QuantizeConfig
    torch.set_num_threads(arguments.threads)
    config = QuantizeConfig(bits=arguments.bits, group_size=arguments.group, sym=True, desc_act=False, act_group_aware=False,
                            damp_percent=arguments.damp, offload_to_disk=False)
    model = GPTQModel.load(arguments.model, config, device="cpu", dtype=torch.float32)
    rows = [{"input_ids": row.tolist(), "attention_mask": [1] * len(row)} for row in ids_of(arguments.ids, arguments.rows)]
    return timed(lambda: model.quantize(rows, batch_size=1, backend=BACKEND.TORCH))


def llmcompressor_child(arguments):
    import torch
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from datasets import Dataset
    from llmcompressor import oneshot
    from llmcompressor.modifiers.gptq import GPTQModifier
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(arguments.threads)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    ids = ids_of(arguments.ids, arguments.rows)
    data = Dataset.from_dict({"input_ids": ids.tolist(), "attention_mask": (ids * 0 + 1).tolist()})
    weights = QuantizationArgs(num_bits=arguments.bits, type="int", symmetric=True, strategy="group", group_size=arguments.group)
    recipe = GPTQModifier(config_groups={"all": QuantizationScheme(targets=["Linear"], weights=weights)},
                          ignore=["re:.*embed_out", "re:.*lm_head"], dampening_frac=arguments.damp, actorder=None)
    return timed(lambda: oneshot(model=model, dataset=data, recipe=[recipe], num_calibration_samples=len(ids),
                                 max_seq_length=ids.shape[1], shuffle_calibration_samples=False))


def timed(work):
    wall, cpu = time.monotonic(), time.process_time()
    work()
    return {"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}


def quench_run(arguments, ids_file, environment):
    quantizer = f"gptq:bits={arguments.bits},group_size={arguments.group},damp={arguments.damp}"
    out, run = finished([arguments.quench, "eval", arguments.model, "--json", "--threads", str(arguments.threads), "--quantizer", quantizer,
                         "--calibration", f"tokens={ids_file}", "--metric", f"validation_loss:tokens={arguments.score},block=64"], environment)
    details = next(r for r in json.loads(out)["data"]["records"] if r.get("quantizer") and r["metric"] == "validation_loss")["details"]
    return {"wall": details["pass_seconds"]["all"], "cpu": details["pass_cpu_seconds"]["all"], **run}


def peer_run(arguments, environment):
    out, run = finished([sys.executable, __file__, "--child", *sys.argv[1:]], environment)
    return {**json.loads(out.splitlines()[-1]), **run}


def show(name, runs):
    best = {key: min(run[key] for run in runs) for key in runs[0]}
    print(f"{name:<14} quantizing {best['wall']:7.1f} s wall {best['cpu']:7.1f} s cpu, process {best['process_wall']:7.1f} s wall "
          f"{best['process_cpu']:7.1f} s cpu, {best['peak_mib']:.0f} MiB")
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench")
    parser.add_argument("--model", required=True)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--tool", choices=["gptqmodel", "llmcompressor"], required=True)
    for name, default in (("rows", 32), ("rounds", 2), ("threads", 2), ("bits", 4), ("group", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--damp", type=float, default=0.01)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child = gptqmodel_child if arguments.tool == "gptqmodel" else llmcompressor_child
        result = child(arguments)
        print(json.dumps(result))
        return
    if not arguments.quench:
        parser.error("--quench: where is the program?")
    # GPTQModel asks for at least two workers, however few cores there are.
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "HF_HUB_OFFLINE": "1", "GPTQMODEL_CPU_WORKERS": "2"}
    from safetensors.numpy import save_file
    ids = ids_of(arguments.ids, arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        ids_file, arguments.score = os.path.join(folder, "ids.safetensors"), os.path.join(folder, "score.safetensors")
        save_file({"ids": ids.copy()}, ids_file)
        save_file({"ids": ids[:1, :64].copy()}, arguments.score)  # eval wants a metric; this one takes no time
        ours, theirs = [], []
        for number in range(arguments.rounds):
            ours.append(quench_run(arguments, ids_file, environment))
            theirs.append(peer_run(arguments, environment))
            print(f"round {number + 1}: load {os.getloadavg()[0]:.2f}; {ours[-1]['cpu']:.1f} and {theirs[-1]['cpu']:.1f} s cpu", flush=True)
    print(f"{ids.shape[0]} x {ids.shape[1]} ids, {arguments.bits} bits, groups of {arguments.group}, {arguments.threads} threads, best of {arguments.rounds}")
    ours, theirs = show("quench", ours), show(arguments.tool, theirs)
    print(f"{arguments.tool} / quench: quantizing wall {theirs['wall'] / ours['wall']:.2f}, cpu {theirs['cpu'] / ours['cpu']:.2f}, "
          f"process wall {theirs['process_wall'] / ours['process_wall']:.2f}, process cpu {theirs['process_cpu'] / ours['process_cpu']:.2f}")


if __name__ == "__main__":
    main()
