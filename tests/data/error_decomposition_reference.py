#!/usr/bin/env python3
"""Prints what tests/regression/error_decomposition_test.cpp expects: the error of the residual stream of a GPT-NeoX after
each of its blocks, split into what the float block makes of the error before it and what the quantized block adds.

  python3 tests/data/error_decomposition_reference.py FIXTURES       # numpy and scipy, float64

Nothing of quench is used: the forward is written from the architecture's definition (parallel residual, rotary angles on
the first quarter of a head, exact GELU), the weights are rounded to nearest on asymmetric grids, and the equations are
those of the metric's page.
"""
import json, pathlib, struct, sys
import numpy as np
from scipy.special import erf
from scipy.stats import kurtosis

BITS, GROUP, HEADS, EPSILON = 3, 64, 4, 1e-5


def tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, info in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            first, last = (8 + size + at for at in info["data_offsets"])
            kind = {"F16": "<f2", "I32": "<i4"}[info["dtype"]]
            yield name, np.frombuffer(data[first:last], kind).reshape(info["shape"])


def rounded(weight):
    """To nearest on the grid of each group of a row, whose ends are the extremes and 0."""
    rows = weight.reshape(weight.shape[0], -1, GROUP)
    low, high = np.minimum(rows.min(2), 0), np.maximum(rows.max(2), 0)
    scale = ((high - low) / (2 ** BITS - 1))[..., None]
    zero = np.rint(-low[..., None] / scale)
    codes = np.clip(np.rint(rows / scale) + zero, 0, 2 ** BITS - 1)
    return (scale * (codes - zero)).astype(np.float32).astype(np.float64).reshape(weight.shape)


def normalized(x, weight, bias):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON) * weight + bias


def rotated(x, turned):
    """x [rows, heads, positions, size]: its first `turned` elements by the angles of their positions."""
    half = turned // 2
    angles = np.arange(x.shape[2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles), np.sin(angles)
    one, two = x[..., :half], x[..., half:turned]
    return np.concatenate([one * cos - two * sin, two * cos + one * sin, x[..., turned:]], -1)


def block(h, w, layer):
    def linear(x, name):
        at = "gpt_neox.layers.%d.%s" % (layer, name)
        return x @ w[at + ".weight"].T + w[at + ".bias"]

    def norm(name):
        at = "gpt_neox.layers.%d.%s" % (layer, name)
        return normalized(h, w[at + ".weight"], w[at + ".bias"])

    rows, length, width = h.shape
    size = width // HEADS
    qkv = linear(norm("input_layernorm"), "attention.query_key_value").reshape(rows, length, HEADS, 3, size)
    q, k, v = (qkv[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3))
    q, k = rotated(q, size // 4), rotated(k, size // 4)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(size)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    attention = linear((shares @ v).transpose(0, 2, 1, 3).reshape(rows, length, width), "attention.dense")
    up = linear(norm("post_attention_layernorm"), "mlp.dense_h_to_4h")
    return h + attention + linear(0.5 * up * (1 + erf(up / np.sqrt(2))), "mlp.dense_4h_to_h")


def main(fixtures):
    w = {name: value.astype(np.float64)
         for name, value in tensors(fixtures / "trajectories/gpt_neox-traj/step1200/model.safetensors")}
    ids = dict(tensors(fixtures / "quantization/calibration.safetensors"))["input_ids"]
    linears = [name for name in w if ".layers." in name and name.endswith(".weight") and w[name].ndim == 2]
    quantized = {**w, **{name: rounded(w[name]) for name in linears}}
    h = moved = w["gpt_neox.embed_in.weight"][ids]
    out = {name: [] for name in ("relative_error", "accumulated", "new", "interaction", "gain", "activation_kurtosis")}
    for layer in range(2):
        before = moved - h
        h, between, moved = block(h, w, layer), block(moved, w, layer), block(moved, quantized, layer)
        size = (h ** 2).sum()
        a, b = between - h, moved - between
        out["relative_error"].append(((moved - h) ** 2).sum() / size)
        out["accumulated"].append((a ** 2).sum() / size)
        out["new"].append((b ** 2).sum() / size)
        out["interaction"].append(2 * (a * b).sum() / size)
        out["gain"].append(float(np.sqrt((a ** 2).sum() / (before ** 2).sum())) if (before ** 2).sum() > 0 else None)
        out["activation_kurtosis"].append(kurtosis(h.ravel()))
    per_row = ((moved - h) ** 2).sum((1, 2)), (h ** 2).sum((1, 2))
    value = per_row[0].sum() / per_row[1].sum()
    residuals = (per_row[0] - value * per_row[1]) / per_row[1].mean()
    out["value"], out["standard_error"] = value, residuals.std(ddof=1) / np.sqrt(len(residuals))
    out["weight_kurtosis"] = {name: kurtosis(w[name].ravel()) for name in linears}
    print(json.dumps(out, indent=1, default=float))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
