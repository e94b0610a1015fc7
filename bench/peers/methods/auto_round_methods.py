#!/usr/bin/env python3
"""AutoRound of the small models by its package: writes bench/methods/data/references/auto_round.json.

Run it with the python of `bench/peers/setup FOLDER PYTHON autoround`. Steps, rows of a step and learning rate are the package's defaults; what
differs from quench is in docs/autoround.md.
"""
import tempfile
from pathlib import Path

import reference


def auto_round(bits):
    def method(model, rows):
        import auto_round
        import transformers
        folder = model.config._name_or_path
        work = auto_round.AutoRound(
            model, tokenizer=transformers.AutoTokenizer.from_pretrained(folder), bits=bits, group_size=reference.settings.GROUP, sym=False,
            iters=200, nsamples=len(rows), seqlen=rows.shape[1], batch_size=8, seed=0, dataset=[row.unsqueeze(0) for row in rows],
            device_map="cpu", amp=False, scale_dtype="fp32", enable_torch_compile=False)
        with tempfile.TemporaryDirectory() as out:
            work.quantize_and_save(out, format="fake")
            return reference.loaded(next(path.parent for path in Path(out).rglob("config.json")))
    return method


METHODS = {"autoround 4": auto_round(4), "autoround 2": auto_round(2)}


def versions():
    import auto_round
    import torch
    import transformers
    return {"auto-round": auto_round.__version__, "torch": torch.__version__, "transformers": transformers.__version__}


if __name__ == "__main__":
    reference.run("auto_round", METHODS, versions)
