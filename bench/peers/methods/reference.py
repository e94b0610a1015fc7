"""What the scripts of this folder share: a small model in the library, its rows, its loss, and the file of results.

A script NAME.py holds METHODS, {name of a setting of bench/methods/settings.py: function(model, rows) -> model to measure}, and VERSIONS,
the packages that computed. `run` loads each model of the fixtures in float32, hands it over with the calibration rows, and measures the loss
of what comes back by the library's own forward, rounded inputs included: nothing of quench is used.
"""
import argparse
import json
import os
import sys
import traceback
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "methods"))
import models  # noqa: E402
import settings  # noqa: E402

CLOSE = 1e-5  # nats; a library whose float model is further from the checkpoint's own number computes another model
UNLIKE = "another package's config reader computes another float model"


def ids_of(folder, text):
    """(calibration rows, validation blocks) of a checkpoint: its tokenizer on both parts of the text, each as one document."""
    import tokenizers
    import torch
    encode = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    content = text.read_bytes()
    first, second = (encode.encode(part.decode(), add_special_tokens=False).ids for part in (content[:models.SPLIT], content[models.SPLIT:]))
    rows = torch.tensor(first[:models.ROWS * models.LENGTH]).reshape(models.ROWS, models.LENGTH)
    blocks = torch.tensor(second[:len(second) // models.BLOCK * models.BLOCK]).reshape(-1, models.BLOCK)
    return rows, blocks


def loaded(folder):
    import torch
    import transformers
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def known(family):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    return family in CONFIG_MAPPING


def loss_of(model, blocks):
    """The mean over blocks of a float32 forward and a float64 softmax."""
    import torch
    total = 0.0
    with torch.no_grad():
        for some in blocks.split(32):
            logits = model(input_ids=some, use_cache=False).logits.double()
            total += torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), some[:, 1:].reshape(-1),
                                                       reduction="sum").item()
    return total / (blocks.shape[0] * (blocks.shape[1] - 1))


def linears(model):
    """(name, module) of every linear of a block; the output head is not one."""
    import torch
    head = model.get_output_embeddings()
    return [(name, module) for name, module in model.named_modules() if isinstance(module, torch.nn.Linear) and module is not head]


def each_weight(change):
    """A method that replaces the weight of each linear by change(weight)."""
    def method(model, _):
        import torch
        with torch.no_grad():
            for _, linear in linears(model):
                linear.weight.copy_(change(linear.weight.detach().clone()))
        return model
    return method


def each_input(change, weight=None):
    """A method that hands change(input) to each linear, whose weight becomes weight(weight)."""
    def method(model, rows):
        if weight is not None:
            model = each_weight(weight)(model, rows)
        for _, linear in linears(model):
            linear.register_forward_pre_hook(lambda _, given: (change(given[0]), *given[1:]))
        return model
    return method


def run(package, methods, versions):
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--settings", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=models.HERE / "data" / "references" / f"{package}.json")
    arguments = parser.parse_args()
    unknown = [name for name in methods if name not in settings.BY_KEY]
    assert not unknown, f"{unknown}: no such setting"
    import torch
    torch.set_num_threads(arguments.threads)
    held = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.out.exists() else {"cells": {}, "floats": {}}
    held["versions"] = versions()
    for model in models.found(models.fixtures()).values():
        if model.folder is None or arguments.models and model.name not in arguments.models:
            continue
        rows, blocks = ids_of(model.folder, models.text(models.fixtures()))
        if not known(model.family):
            held["floats"][model.name] = {"failed": f"transformers has no family {model.family}"}
            continue
        floating = loss_of(loaded(model.folder), blocks)
        held["floats"][model.name] = {"loss": floating}
        if abs(floating - model.reference_loss) > CLOSE:
            held["floats"][model.name]["failed"] = UNLIKE
            print(f"{model.name}: float {floating:.6f}, wanted {model.reference_loss:.6f}", flush=True)
            continue
        for key, method in methods.items():
            if arguments.settings and key not in arguments.settings:
                continue
            torch.manual_seed(0)
            try:
                found = {"loss": loss_of(method(loaded(model.folder), rows), blocks)}
                found["delta"] = found["loss"] / floating - 1
            except Exception as error:  # noqa: BLE001, a package may fail in any way, and the table says how
                traceback.print_exc()
                found = {"failed": f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"[:300]}
            held["cells"].setdefault(key, {})[model.name] = found
            print(f"{model.name}, {key}: {found}", flush=True)
            write(arguments.out, held)
    write(arguments.out, held)


def write(path, held):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(held, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
