#!/usr/bin/env python3
"""Makes dtype_reference.json: what Hugging Face transformers gives for the trained fixture models in 16 bits.

  python3 tests/data/dtype_reference.py FIXTURES/models tests/data     # torch 2.11.0, transformers 4.57.6

For each model and dtype, with each of the library's own attention kernels (eager, sdpa): the mean loss of the reference's
ids, and the distance of its logits from the float32 reference's, root mean square. apertus in float16 is left out: the
library keeps the xIELU parameters in bfloat16, and its product then refuses the mixture.
"""
import json, pathlib, sys
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def losses(logits, ids):
    likely = torch.log_softmax(logits[:, :-1].double(), -1)
    return -likely.gather(-1, ids[:, 1:, None]).squeeze(-1)


def main(models, out):
    torch.set_num_threads(1)
    found = {}
    for folder in sorted(pathlib.Path(models).iterdir()):
        if not (folder / "reference.safetensors").exists() or folder.name == "opensci":  # no library has opensci
            continue
        reference = load_file(folder / "reference.safetensors")
        ids = reference["input_ids"].long()
        for name, dtype in DTYPES.items():
            if (folder.name, name) == ("apertus", "float16"):
                continue
            runs = {}
            for kernel in ("eager", "sdpa"):
                model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation=kernel).eval()
                with torch.no_grad():
                    logits = model(ids, use_cache=False).logits
                distance = (logits.double() - reference["logits"].double()).pow(2).mean().sqrt().item()
                runs[kernel] = {"loss": losses(logits, ids).mean().item(), "logit_distance": distance}
            found.setdefault(folder.name, {})[name] = runs
            print(folder.name, name, {k: (round(v["loss"], 6), round(v["logit_distance"], 5)) for k, v in runs.items()}, flush=True)
    with open(f"{out}/dtype_reference.json", "w") as file:
        json.dump(found, file, indent=1, sort_keys=True)
        file.write("\n")


main(*sys.argv[1:])
