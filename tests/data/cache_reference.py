#!/usr/bin/env python3
"""Makes cache_reference.json and .safetensors: keys and values rounded by the definitions in numpy float64, and the logits of two
families whose attention, Hugging Face transformers' own, reads rounded keys and values.

  python3 tests/data/cache_reference.py tests/data       # torch 2.15.0, transformers 4.57.6, safetensors, numpy

K [20, 2, 32] and V [20, 2, 64] are float32, `segments` [2, 10]. Per case of "rounded" `keys.<name>` and `values.<name>`, float32. Per
case of "logits" `logits.<name>` [2, 24, V] float64 of the model in families/<model>.safetensors. Rotated keys are not turned back here:
the queries are rotated, too, as QuaRot does it (Ashkboos et al. 2024, arXiv 2404.00456, section 4), so that the two ways are compared.
"""
import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

ELEMENTS = {"fp8_e4m3": (4, 3, 126), "fp8_e5m2": (5, 2, 123), "mxfp4": (2, 1, 7), "mxfp8_e4m3": (4, 3, 126), "nvfp4": (2, 1, 7)}


def numbers(exponent_bits, mantissa_bits, last):
    """The numbers of a format that are not negative, in order of their codes."""
    bias = 2 ** (exponent_bits - 1) - 1
    parts = [(code >> mantissa_bits, code & (2**mantissa_bits - 1)) for code in range(last + 1)]
    return np.array([m / 2**mantissa_bits * 2.0 ** (1 - bias) if e == 0 else (1 + m / 2**mantissa_bits) * 2.0 ** (e - bias)
                     for e, m in parts])


def nearest(x, table):
    """Half to the even code; beyond the last number that one. One number after the other."""
    out = np.empty_like(x)
    for at, value in np.ndenumerate(x):
        away = np.abs(table - abs(value))
        best = np.flatnonzero(away == away.min())
        out[at] = np.copysign(table[best[0] if len(best) == 1 or best[0] % 2 == 0 else best[1]], value)
    return out


def float32_at_least(value):
    return max(np.float32(value), np.float32(2.0**-149)).astype(np.float64)


def round_group(x, case):
    """A vector of numbers that share a scale."""
    name, range_ = case["cache"], case.get("cache_range", "min_max")
    clip = case.get("cache_clip", 1.0)
    if name.startswith("int"):
        top = 2 ** int(name[3:]) - 1
        if range_ == "min_max":
            scale = (x.max() - x.min()) / top
            return x.copy() if scale == 0 else x.min() + scale * np.clip(np.rint((x - x.min()) / scale), 0, top)
        low, high = min(x.min(), 0) * clip, max(x.max(), 0) * clip
        if range_ == "symmetric":
            high = max(-low, high)
            low = -high
        if (high - low) / top == 0:
            low, high = -1.0, 1.0
        scale = (high - low) / top
        zero = (top + 1) / 2 if range_ == "symmetric" else np.rint(-low / scale)
        return scale * (np.clip(np.rint(x / scale) + zero, 0, top) - zero)
    table = numbers(*ELEMENTS[name])
    largest = np.abs(x).max() * clip
    if name.startswith("fp8"):
        scale = float32_at_least(largest / table[-1])
        return scale * nearest(x / scale, table)
    out = np.empty_like(x)
    block = 16 if name == "nvfp4" else 32
    for first in range(0, len(x), block):
        part = x[first:first + block]
        a = np.abs(part).max()
        if name == "nvfp4":
            tensor = float32_at_least(largest / (6 * 448))
            fp8 = numbers(*ELEMENTS["fp8_e4m3"])
            scale = nearest(np.array([a / 6 / tensor]), fp8)[0]
            scale = tensor * (fp8[1] if scale == 0 else scale)
        else:
            scale = 2.0 ** (np.floor(np.log2(a)) - np.floor(np.log2(table[-1])))
        out[first:first + block] = scale * nearest(part / scale, table)
    return out


def hadamard(n):
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h / np.sqrt(n)


def round_head(x, runs, by, case):
    """x [tokens, width] of one head; `runs`: (first, end) of what belongs together."""
    out, group = x.copy(), case.get("cache_group_size", 32)
    for first, end in runs:
        if by == "channel":
            for at in range(first, end, group):
                for c in range(x.shape[1]):
                    out[at:min(at + group, end), c] = round_group(x[at:min(at + group, end), c], case)
        else:
            for t in range(first, end):
                for c in range(0, x.shape[1], group):
                    out[t, c:c + group] = round_group(x[t, c:c + group], case)
    return out


def rounded(x, runs, by, case, rotates, turns_back=True):
    """x [tokens, heads, width]"""
    h = hadamard(x.shape[2]) if rotates else np.eye(x.shape[2])
    return np.stack([round_head(x[:, k] @ h, runs, by, case) @ (h.T if turns_back else np.eye(len(h))) for k in range(x.shape[1])], 1)


def keys_and_values(k, v, runs, case, turns_back=True):
    rotate = case.get("cache_rotate", "none")
    return (rounded(k, runs, case.get("cache_keys", "token"), case, rotate != "none", turns_back),
            rounded(v, runs, case.get("cache_values", "token"), case, rotate == "both"))


ROUNDED = [{"cache": f"int{bits}"} for bits in range(2, 9)]
ROUNDED += [{"cache": "int4", "cache_range": "with_zero"}, {"cache": "int3", "cache_range": "with_zero", "cache_clip": 0.95},
            {"cache": "int4", "cache_range": "symmetric"}, {"cache": "int2", "cache_range": "symmetric", "cache_clip": 0.5},
            {"cache": "int2", "cache_keys": "channel"}, {"cache": "int2", "cache_keys": "channel", "cache_group_size": 4},
            {"cache": "int4", "cache_keys": "channel", "cache_values": "channel", "cache_group_size": 5, "cache_range": "with_zero"},
            {"cache": "int4", "cache_group_size": 8}, {"cache": "int3", "cache_rotate": "keys"},
            {"cache": "int3", "cache_rotate": "both", "cache_range": "with_zero", "cache_clip": 0.95},
            {"cache": "int2", "cache_rotate": "both", "cache_keys": "channel", "cache_group_size": 16},
            {"cache": "fp8_e4m3"}, {"cache": "fp8_e5m2", "cache_keys": "channel", "cache_group_size": 8}, {"cache": "fp8_e4m3", "cache_clip": 0.9},
            {"cache": "mxfp4"}, {"cache": "mxfp8_e4m3"}, {"cache": "nvfp4"}, {"cache": "nvfp4", "cache_group_size": 16, "cache_rotate": "both"}]

WHOLE = {"cache_group_size": 8}
LOGITS = [("qwen3", {"cache": "int4", **WHOLE}), ("qwen3", {"cache": "int2", "cache_keys": "channel", "cache_group_size": 4}),
          ("qwen3", {"cache": "int3", "cache_range": "with_zero", "cache_clip": 0.95, "cache_rotate": "both", **WHOLE}),
          ("qwen3", {"cache": "int4", "cache_keys": "channel", "cache_values": "channel", "cache_group_size": 16}),
          ("gemma2", {"cache": "int3", "cache_rotate": "keys", **WHOLE}), ("gemma2", {"cache": "fp8_e4m3", **WHOLE}),
          ("gemma2", {"cache": "int2", "cache_range": "symmetric", **WHOLE})]


def logits_of(folder, name, case):
    import importlib

    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    notes = json.loads((folder / f"families/{name}.json").read_text())
    config = CONFIG_MAPPING[name](**notes["configs"]["4.57.6"])
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").double().eval()
    saved = load_file(folder / f"families/{name}.safetensors")
    state = {key: torch.from_numpy(value.astype(np.float64)) for key, value in saved.items() if key not in ("ids", "logits")}
    missing = model.load_state_dict(state, strict=False).missing_keys
    assert set(missing) <= {"lm_head.weight"}, missing
    model.tie_weights()
    module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    theirs = module.eager_attention_forward

    def attention(self, query, key, value, *arguments, **named):
        k, v = key.detach().numpy().copy(), value.detach().numpy().copy()  # [rows, heads, tokens, width], after the rotation by position
        for row in range(len(k)):
            both = keys_and_values(k[row].transpose(1, 0, 2), v[row].transpose(1, 0, 2), [(0, k.shape[2])], case, turns_back=False)
            k[row], v[row] = (part.transpose(1, 0, 2) for part in both)
        if case.get("cache_rotate", "none") != "none":
            query = query @ torch.from_numpy(hadamard(k.shape[3]))
        return theirs(self, query, torch.from_numpy(k), torch.from_numpy(v), *arguments, **named)

    with torch.no_grad():
        plain = model(torch.from_numpy(saved["ids"].astype(np.int64)), use_cache=False).logits.numpy()
        assert np.abs(plain - saved["logits"]).max() < 1e-9, "another transformers than that of families_reference.py"
        module.eager_attention_forward = attention
        try:
            return model(torch.from_numpy(saved["ids"].astype(np.int64)), use_cache=False).logits.double().numpy()
        finally:
            module.eager_attention_forward = theirs


def main(out):
    folder = pathlib.Path(out)
    rng = np.random.Generator(np.random.PCG64(5))
    offsets = rng.normal(size=(1, 2, 32)) * 3  # channels of keys that are far from zero
    k = (rng.normal(size=(20, 2, 32)) + offsets).astype(np.float32)
    v = rng.normal(size=(20, 2, 64)).astype(np.float32)
    v[7, 1] = 0.25  # all equal
    segments = np.array([[1] * 4 + [2] * 6, [0] * 3 + [1] * 3 + [2] * 3 + [-1]], np.int32)
    runs = [(0, 4), (4, 10), (10, 13), (13, 16), (16, 19)]
    tensors = {"K": k, "V": v, "segments": segments}
    for number, case in enumerate(ROUNDED):
        made = keys_and_values(k.astype(np.float64), v.astype(np.float64), runs, case)
        for name, part, given in zip(("keys", "values"), made, (k, v)):
            part[19] = given[19]  # padding
            tensors[f"{name}.{number}"] = part.astype(np.float32)
    for number, (name, case) in enumerate(LOGITS):
        tensors[f"logits.{number}"] = np.ascontiguousarray(logits_of(folder, name, case))
    import torch
    import transformers
    versions = {"numpy": np.__version__, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    save_file(tensors, folder / "cache_reference.safetensors", versions)
    (folder / "cache_reference.json").write_text(json.dumps(
        {**versions, "rounded": ROUNDED, "logits": [{"model": name, "parameters": case} for name, case in LOGITS]}, indent=1) + "\n")


main(*sys.argv[1:])
