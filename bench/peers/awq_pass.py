#!/usr/bin/env python3
"""AWQ of a whole model: quench beside llm-compressor, same model, same ids, same scaling groups, same candidates.

  awq_pass.py --quench build/release/bin/quench --model FOLDER --ids FILE [--rows 32] [--rounds 1] [--threads 2]
              [--bits 4] [--group 128] [--objective gram|block]

Run it with the python of `bench/peers/setup FOLDER PYTHON llmcompressor`. FOLDER, a GPT-NeoX model, and FILE (tensor `ids`
[rows, length]) come from build/release/bench/tools/random_pythia. Both sides: float32, asymmetric grids, twenty scales for the
groups behind a norm (llm-compressor has no map for this family; this is the part of ours that it can fold), no others. Printed:
wall and processor seconds of quantizing alone and of the whole process, peak memory, and the ratios of the best runs; above 1
means that quench is faster. On a busy machine only processor seconds mean something.
"""
import argparse, json, os, sys, tempfile

from gptq_pass import finished, ids_of, show, timed


def child(arguments):
    import torch
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from datasets import Dataset
    from llmcompressor import oneshot
    from llmcompressor.modifiers.quantization import QuantizationModifier
    from llmcompressor.modifiers.transform.awq import AWQMapping, AWQModifier
    from transformers import AutoModelForCausalLM
    torch.Tensor.pin_memory = lambda tensor, *_: tensor  # it pins what it caches, also where there is no device
    torch.set_num_threads(arguments.threads)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    ids = ids_of(arguments.ids, arguments.rows)
    data = Dataset.from_dict({"input_ids": ids.tolist(), "attention_mask": (ids * 0 + 1).tolist()})
    weights = QuantizationArgs(num_bits=arguments.bits, type="int", symmetric=False, strategy="group", group_size=arguments.group)
    mappings = [AWQMapping("re:.*input_layernorm$", ["re:.*query_key_value$"]),
                AWQMapping("re:.*post_attention_layernorm$", ["re:.*dense_h_to_4h$"])]
    recipe = [AWQModifier(mappings=mappings, duo_scaling=True, n_grid=20),
              QuantizationModifier(config_groups={"all": QuantizationScheme(targets=["Linear"], weights=weights)},
                                   ignore=["re:.*embed_out", "re:.*lm_head"])]
    return timed(lambda: oneshot(model=model, dataset=data, recipe=recipe, num_calibration_samples=len(ids),
                                 max_seq_length=ids.shape[1], shuffle_calibration_samples=False))


def quench_run(arguments, ids_file, environment):
    quantizer = (f"awq:preset=llm_compressor,bits={arguments.bits},group_size={arguments.group},unscaled=*.dense+*.dense_4h_to_h,"
                 f"objective={arguments.objective}")
    out, run = finished([arguments.quench, "eval", arguments.model, "--json", "--threads", str(arguments.threads), "--quantizer", quantizer,
                         "--calibration", f"tokens={ids_file}", "--metric", f"validation_loss:tokens={arguments.score},block=64"], environment)
    details = next(r for r in json.loads(out)["data"]["records"] if r.get("quantizer") and r["metric"] == "validation_loss")["details"]
    print({part: round(seconds, 1) for part, seconds in details["pass_cpu_seconds"].items()}, flush=True)
    return {"wall": details["pass_seconds"]["all"], "cpu": details["pass_cpu_seconds"]["all"], **run}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench")
    parser.add_argument("--model", required=True)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--objective", choices=["gram", "block"], default="gram")
    for name, default in (("rows", 32), ("rounds", 1), ("threads", 2), ("bits", 4), ("group", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        result = child(arguments)
        print(json.dumps(result))
        return
    if not arguments.quench:
        parser.error("--quench: where is the program?")
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "HF_HUB_OFFLINE": "1"}
    from safetensors.numpy import save_file
    ids = ids_of(arguments.ids, arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        ids_file, arguments.score = os.path.join(folder, "ids.safetensors"), os.path.join(folder, "score.safetensors")
        save_file({"ids": ids.copy()}, ids_file)
        save_file({"ids": ids[:1, :64].copy()}, arguments.score)  # eval wants a metric; this one takes no time
        ours, theirs = [], []
        for number in range(arguments.rounds):
            ours.append(quench_run(arguments, ids_file, environment))
            out, run = finished([sys.executable, __file__, "--child", *sys.argv[1:]], environment)
            theirs.append({**json.loads(out.splitlines()[-1]), **run})
            print(f"round {number + 1}: load {os.getloadavg()[0]:.2f}; {ours[-1]['cpu']:.1f} and {theirs[-1]['cpu']:.1f} s cpu", flush=True)
    print(f"{ids.shape[0]} x {ids.shape[1]} ids, {arguments.bits} bits, groups of {arguments.group}, {arguments.threads} threads, best of {arguments.rounds}")
    ours, theirs = show("quench", ours), show("llmcompressor", theirs)
    print(f"llmcompressor / quench: quantizing wall {theirs['wall'] / ours['wall']:.2f}, cpu {theirs['cpu'] / ours['cpu']:.2f}, "
          f"process wall {theirs['process_wall'] / ours['process_wall']:.2f}, process cpu {theirs['process_cpu'] / ours['process_cpu']:.2f}, "
          f"peak memory {theirs['peak_mib'] / ours['peak_mib']:.2f}")


if __name__ == "__main__":
    main()
