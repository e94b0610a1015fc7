#!/usr/bin/env python3
"""What padded calibration rows do to GPTQ: quench's `pads` beside GPTQModel, linear by linear.

  gptq_pads.py --quench build/release/bin/quench --model FOLDER --documents FILE [--batch 3] [--pad 0] [--bits 4] [--group 32] [--sym]

Run it with the python of the environment that `bench/peers/setup FOLDER PYTHON gptqmodel` makes. FOLDER is a small checkpoint
with a tokenizer that transformers opens, FILE a text whose lines are documents of unequal length, each of more than ten ids.
Both sides get the same ids in the same batches, in float32, and take a group's scale from the weights at the start of a block.

GPTQModel leaves pads out of the Hessian since 5.0: as it is, it stands beside `pads: masked`. Before, its hooks saw the whole
batch: `counted` keeps the mask of the installed version from the hooks, though not from the forward, as 2.2 to 4.2 did.

Printed for each linear: rows in the Hessian; relative differences of what quench's record says of H = 2/rows X'X (mean and
largest diagonal element, condition of the damped H, which depends on all of it) and of the weights' relative output error on
H; for the first linear codes that differ. Codes are of a second run that writes a folder: its scales are halves, which later
linears see. Without --sym grids are asymmetric: the negative extreme of a symmetric grid lies between two codes, float32
(GPTQModel) and float64 (quench) divide differently there, and one such code moves the rest of its row and all linears behind.
"""
import argparse, glob, json, os, subprocess, tempfile
import numpy as np
from load_formats import unpack


def peer(arguments, rows, counted):
    """Linear -> what the record of quench says, from GPTQModel's own H and weights, and codes [out, in]."""
    import torch
    from gptqmodel import BACKEND, GPTQModel, QuantizeConfig
    from gptqmodel.looper.module_looper import ModuleLooper
    from gptqmodel.quantization.gptq import GPTQ
    found = {}
    quantize, set_mask = GPTQ.quantize, ModuleLooper._set_processor_mask

    def observed(task, *args, **kwargs):
        weight = task.module.weight.detach().double().clone()
        task.finalize_hessian()
        hessian, count = task.H.double().clone(), task.nsamples
        result = quantize(task, *args, **kwargs)
        quantized, scales, zeros, groups = (part.double() for part in result[:4])
        groups = groups.long()
        codes = torch.round(quantized / scales[:, groups] + zeros[:, groups])
        damped = hessian + arguments.damp * hessian.diagonal().mean() * torch.eye(len(hessian), dtype=torch.double)
        pivots = torch.linalg.cholesky(torch.linalg.inv(damped), upper=True).diagonal()
        squares = lambda w: torch.trace(w @ hessian @ w.T).item()
        found[task._named_module.full_name] = {
            "rows": count, "diagonal_mean": hessian.diagonal().mean().item(), "diagonal_max": hessian.diagonal().max().item(),
            "condition": (pivots.max() / pivots.min()).item() ** 2,
            "relative_error": squares(weight - quantized) / squares(weight), "codes": codes.long().numpy()}
        return result

    GPTQ.quantize = observed
    if counted:
        ModuleLooper._set_processor_mask = lambda looper, processor, mask: set_mask(looper, processor, None)
    config = QuantizeConfig(bits=arguments.bits, group_size=arguments.group, sym=arguments.sym, desc_act=False, act_group_aware=False,
                            damp_percent=arguments.damp, offload_to_disk=False)
    model = GPTQModel.load(arguments.model, config, device="cpu", dtype=torch.float32)
    model.tokenizer.pad_token_id = arguments.pad
    calibration = [{"input_ids": row, "attention_mask": [1] * len(row)} for row in rows]
    try:
        model.quantize(calibration, batch_size=arguments.batch, backend=BACKEND.TORCH, calibration_sort=None)
    finally:
        GPTQ.quantize, ModuleLooper._set_processor_mask = quantize, set_mask
    return found


def own(arguments, folder, counted):
    """Linear -> quench's record, and the codes that it wrote."""
    pads = f", pads: counted, pad_id: {arguments.pad}, pad_batch: {arguments.batch}" if counted else ""
    gptq = f"gptq: {{bits: {arguments.bits}, group_size: {arguments.group}, damp: {arguments.damp}, scale_from: stale, sym: {str(arguments.sym).lower()}}}"
    lines = ["name: pads", "dtype: float32", f"checkpoints: {{model: {os.path.abspath(arguments.model)}}}",
             f"calibration: {{rows: {{corpus: documents{pads}}}}}",
             "quantizers:", f"  - {gptq}", "    calibration: rows", "    label: plain",
             f"  - {gptq}", "    calibration: rows", "    label: written", "    export: gptq_v2",
             "metrics:", "  - validation_loss: {corpus: documents, block: 16}",
             "corpora:", f"  documents: {{text: {{path: {os.path.abspath(arguments.documents)}, split: line}}}}"]
    manifest, out = os.path.join(folder, "pads.yaml"), os.path.join(folder, "counted" if counted else "masked")
    with open(manifest, "w") as file:
        file.write("\n".join(lines) + "\n")
    environment = {**os.environ, "QUENCH_HOME": os.path.join(folder, "home")}
    subprocess.run([arguments.quench, "run", manifest, "--out", out], check=True, env=environment, stdout=subprocess.DEVNULL)
    records = subprocess.run([arguments.quench, "results", out, "--json"], check=True, env=environment, capture_output=True, text=True).stdout
    found = next(r["details"]["layers"] for r in json.loads(records)["data"]["records"]
                 if r["quantizer"] and r["quantizer"]["label"] == "plain" and "layers" in r["details"])
    from safetensors.numpy import load_file
    tensors = load_file(glob.glob(os.path.join(out, "exports", "*", "*", "model.safetensors"))[0])
    return {layer["name"]: {**layer, "codes": unpack(tensors[layer["name"] + ".qweight"].view(np.uint32).T, arguments.bits)} for layer in found}


def show(name, ours, theirs):
    print(f"\n{name}\n{'linear':<44} {'rows':>6} {'theirs':>6} {'mean':>9} {'largest':>9} {'condition':>9} {'error':>9}  codes that differ")
    assert ours.keys() == theirs.keys()
    for number, (linear, a) in enumerate(ours.items()):
        b = theirs[linear]
        apart = [abs(a[key] / b[key] - 1) for key in ("diagonal_mean", "diagonal_max", "condition", "relative_error")]
        print(f"{linear:<44} {a['rows']:>6.0f} {b['rows']:>6} " + " ".join(f"{x:>9.1e}" for x in apart)
              + (f"  {(a['codes'] != b['codes']).sum()} of {a['codes'].size}" if number == 0 else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--documents", required=True)
    for name, default in (("batch", 3), ("pad", 0), ("bits", 4), ("group", 32)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--damp", type=float, default=0.01)
    parser.add_argument("--sym", action="store_true", help="symmetric grids")
    arguments = parser.parse_args()
    with open(arguments.documents) as file:
        texts = "".join(json.dumps(line.rstrip("\n")) + "\n" for line in file if line.strip())
    ids = subprocess.run([arguments.quench, "tokenize", arguments.model], check=True, input=texts, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in ids.splitlines()]
    if min(map(len, rows)) <= 10:
        parser.error("--documents: GPTQModel drops documents of ten ids and less")
    with tempfile.TemporaryDirectory() as folder:
        ours = {counted: own(arguments, folder, counted) for counted in (False, True)}
    theirs = {counted: peer(arguments, rows, counted) for counted in (False, True)}
    print(f"rows of {', '.join(str(len(row)) for row in rows)} ids, {arguments.batch} a batch; differences are relative")
    show("masked", ours[False], theirs[False])
    show("counted", ours[True], theirs[True])
    show("counted beside what GPTQModel does today", ours[True], theirs[False])


if __name__ == "__main__":
    main()
