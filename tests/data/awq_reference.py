#!/usr/bin/env python3
"""Makes awq_reference.json and .safetensors: AWQ's scale and clip search on one input group of two linears, written out
from the paper and the published tools' rules in float64, on the rows themselves (no Gram matrix).

  python3 tests/data/awq_reference.py tests/data       # numpy, safetensors

W0 [24, 96], W1 [16, 96], X [300, 96] are float32. Per case: its parameters; losses (mean squared error of an output of
the group) by candidate, in their order; best (its index); per linear dequantized weight W_hat, and limits [out, groups]
where the case clips. ties: a symmetric grid with 2^bits - 1 steps puts every extreme half-way between two codes, so that the
last bit of a scale decides; losses then agree to a percent only.
"""
import json
import sys

import numpy as np
from safetensors.numpy import save_file

rng = np.random.default_rng(7)
size = np.exp(rng.normal(size=96) * 1.2)
X = ((rng.normal(size=(300, 32)) @ rng.normal(size=(32, 96)) + rng.normal(size=(300, 96))) * size).astype(np.float32)
W = [(rng.normal(size=(rows, 96)) * 0.05).astype(np.float32) for rows in (24, 16)]
W[1][3] = np.abs(W[1][3])  # a row of one sign


def runs(columns, group):
    return [slice(a, min(a + group, columns)) for a in range(0, columns, group)]


def quantize(v, case, limits=None):
    """Q(v), v [out, in] already scaled; limits [out, groups] or None."""
    out = np.empty_like(v)
    top = 2 ** case["bits"] - 1
    half = 2 ** (case["bits"] - 1)
    for g, run in enumerate(runs(v.shape[1], case["group_size"])):
        x = v[:, run]
        if limits is not None:
            x = np.clip(x, -limits[:, g : g + 1], limits[:, g : g + 1])
        low, high = x.min(1, keepdims=True), x.max(1, keepdims=True)
        largest = np.abs(x).max(1, keepdims=True)
        if case["grid"] == "tight":
            scale = np.maximum(largest, 1e-5) / (half - 1) if case["sym"] else np.maximum(high - low, 1e-5) / top
            zero = np.full_like(scale, half) if case["sym"] else np.clip(-np.rint(low / scale), 0, top)
        else:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
            if case["sym"]:
                if case["grid"] == "compressed":
                    low, high = -largest, largest
                else:
                    high = largest
                    low = np.where(low < 0, -largest, low)
            scale = (high - low) / top
            zero = np.full_like(scale, half) if case["sym"] else np.rint(-low / scale)
        out[:, run] = scale * (np.clip(np.rint(x / scale) + zero, 0, top) - zero)
    return out


def candidates(case):
    n = case["candidates"]
    if case["ratios"] == "autoawq":
        return [(i / n, case["duo"] == "on") for i in range(n)]
    if case["duo"] == "both":
        return [(i / (n // 2 - 1), duo) for i in range(n // 2) for duo in (False, True)]
    if case["duo"] == "off":
        return [(i / (n - 1), False) for i in range(n)]
    return [(0.0, False)] + [(i / (n - 2), True) for i in range(n - 1)]


def clip_limits(w, s, case):
    limits = np.empty((w.shape[0], len(runs(w.shape[1], case["group_size"]))))
    for g, run in enumerate(runs(w.shape[1], case["group_size"])):
        v = w[:, run] * s[run]
        largest = np.abs(v).max(1)
        least = np.full(w.shape[0], np.inf)
        for i in range(10):
            limit = largest * (1 - i / 20)
            hat = quantize(v, dict(case, group_size=v.shape[1]), limit[:, None]) / s[run]
            loss = ((X64[:, run] @ (w[:, run] - hat).T) ** 2).mean(0)
            limits[:, g] = np.where(loss < least, limit, limits[:, g])
            least = np.minimum(least, loss)
    return limits


X64 = X.astype(np.float64)
W64 = [w.astype(np.float64) for w in W]
cases = [
    dict(bits=4, group_size=32, sym=False, grid="tight", ratios="autoawq", candidates=20, duo="on", clip="all"),
    dict(bits=3, group_size=32, sym=True, grid="tight", ratios="autoawq", candidates=20, duo="on", clip="off"),
    dict(bits=4, group_size=32, sym=True, grid="compressed", ratios="llm_compressor", candidates=20, duo="on", clip="off"),
    dict(bits=4, group_size=40, sym=False, grid="widened", ratios="llm_compressor", candidates=20, duo="both", clip="off"),
    dict(bits=3, group_size=96, sym=True, grid="widened", ratios="llm_compressor", candidates=12, duo="off", clip="all"),
]
tensors = {"X": X, "W0": W[0], "W1": W[1]}
out = []
for index, case in enumerate(cases):
    x_mean = np.abs(X64).mean(0)
    relative = []
    for w in W64:
        r = np.empty_like(w)
        for run in runs(96, case["group_size"]):
            r[:, run] = np.abs(w[:, run]) / (np.abs(w[:, run]).max(1, keepdims=True) + 1e-6)
        relative.append(r)
    w_mean = np.concatenate(relative).mean(0)
    losses, scales = [], []
    for ratio, duo in candidates(case):
        s = np.maximum(x_mean**ratio / (w_mean ** (1 - ratio) + 1e-4) if duo else x_mean**ratio, 1e-4)
        s = s / np.sqrt(s.max() * s.min())
        error = [(X64 @ (w - quantize(w * s, case) / s).T) ** 2 for w in W64]
        losses.append(np.concatenate(error, axis=1).mean())
        scales.append(s)
    best = int(np.argmin(losses))
    s = scales[best]
    tensors[f"{index}.scale"] = s
    for i, w in enumerate(W64):
        limits = clip_limits(w, s, case) if case["clip"] == "all" else None
        if limits is not None:
            tensors[f"{index}.limits{i}"] = limits
        tensors[f"{index}.W_hat{i}"] = (quantize(w * s, case, limits) / s).astype(np.float32)
    ties = case["sym"] and case["grid"] != "tight"
    out.append({"parameters": case, "ties": ties, "losses": losses, "best": best})
with open(sys.argv[1] + "/awq_reference.json", "w") as file:
    json.dump(out, file, indent=1)
    file.write("\n")
save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, sys.argv[1] + "/awq_reference.safetensors")
print([c["best"] for c in out], [min(c["losses"]) / c["losses"][0] for c in out])
