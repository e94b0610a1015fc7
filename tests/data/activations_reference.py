#!/usr/bin/env python3
"""Makes activations_reference.json and .safetensors: inputs of a linear rounded to each format, from the formats' definitions in
numpy float64, by tables of all numbers of a format (quench rounds by arithmetic), and their products with a weight.

  python3 tests/data/activations_reference.py tests/data       # numpy, safetensors

W [24, 96], X [24, 96] and the calibration rows C [200, 96] are float32. Per case `rounded.<name>` [24, 96] float32, of every
sixth `product.<name>` [24, 24] float64 = rounded Wᵀ; in the JSON its parameters and the columns that stay in float.
"""
import json
import sys

import numpy as np
from safetensors.numpy import save_file

rng = np.random.default_rng(11)
size = np.exp(rng.normal(size=96) * 0.7)
size[[7, 40, 41]] *= 20  # outlier columns
mix = rng.normal(size=(32, 96))


def rows(count):
    return ((rng.normal(size=(count, 32)) @ mix + rng.normal(size=(count, 96))) * size / 6).astype(np.float32)


C, X = rows(200), rows(24)
X[3] = np.abs(X[3])  # a row of one sign
X[4] = 0
X[5] *= np.float32(1e-30)
X[6, 32:64] = 0  # a block of zeros
W = (rng.normal(size=(24, 96)) * 0.05).astype(np.float32)


def numbers(exponent_bits, mantissa_bits, last):
    """The numbers of a format that are not negative, in order of their codes; `last` is the code of the largest."""
    bias = 2 ** (exponent_bits - 1) - 1
    found = []
    for code in range(last + 1):
        e, m = code >> mantissa_bits, code & (2**mantissa_bits - 1)
        found.append(m / 2**mantissa_bits * 2.0 ** (1 - bias) if e == 0 else (1 + m / 2**mantissa_bits) * 2.0 ** (e - bias))
    return np.array(found)


# As in OCP OFP8 and MX v1.0: FP4 and FP6 have numbers alone, the last code of E4M3 is NaN, the last exponent of E5M2 is not finite.
ELEMENTS = {"e2m1": numbers(2, 1, 7), "e2m3": numbers(2, 3, 31), "e3m2": numbers(3, 2, 31),
            "e4m3": numbers(4, 3, 126), "e5m2": numbers(5, 2, 123)}


def nearest(x, table):
    """Half to the even code; beyond the last number that one."""
    magnitude = np.minimum(np.abs(x), table[-1])
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    low, high = table[above - 1], table[above]
    middle = (low + high) / 2
    take_high = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    return np.where(np.signbit(x), -1, 1) * np.where(take_high, high, low)


def to_integers(x, low, high, bits, sym):
    """x [N, c]; low <= 0 <= high [N, 1]"""
    top = 2**bits - 1
    if sym:
        a = np.maximum(-low, high)
        low, high = -a, a
    none = (high - low) / top == 0
    low, high = np.where(none, -1, low), np.where(none, 1, high)
    scale = (high - low) / top
    zero = np.full_like(scale, 2.0 ** (bits - 1)) if sym else np.rint(-low / scale)
    return scale * (np.clip(np.rint(x / scale) + zero, 0, top) - zero)


def to_fp8(x, low, high, table):
    scale = np.maximum(np.float32(np.maximum(-low, high) / table[-1]), np.float32(2.0**-149)).astype(np.float64)
    return scale * nearest(x / scale, table)


def to_mx(x, table):
    out = np.empty_like(x)
    for first in range(0, x.shape[1], 32):
        block = x[:, first : first + 32]
        a = np.abs(block).max(1, keepdims=True)
        emax = np.floor(np.log2(table[-1]))
        exponent = np.where(a > 0, np.frexp(np.where(a > 0, a, 1))[1] - 1 - emax, -127)  # floor(log2 a) = frexp's - 1
        scale = 2.0 ** np.clip(exponent, -127, 127)
        out[:, first : first + 32] = scale * nearest(block / scale, table)
    return out


def to_nvfp4(x, low, high):
    fp4, fp8 = ELEMENTS["e2m1"], ELEMENTS["e4m3"]
    out = np.empty_like(x)
    tensor = np.maximum(np.float32(np.maximum(-low, high) / (6 * 448)), np.float32(2.0**-149)).astype(np.float64)
    for first in range(0, x.shape[1], 16):
        block = x[:, first : first + 16]
        scale = nearest(np.abs(block).max(1, keepdims=True) / 6 / tensor, fp8)
        scale = tensor * np.where(scale == 0, fp8[1], scale)
        out[:, first : first + 16] = scale * nearest(block / scale, fp4)
    return out


def bin_end(value):
    """The farthest float32 of those with the same upper 19 bits."""
    bits = np.float32(value).view(np.uint32) | np.uint32(0x1FFF)
    return float(bits.view(np.float32))


def percentile_range(percent, sym):
    outside = C.size * (100 - percent) / 100
    if sym:
        a = bin_end(np.sort(np.abs(C), axis=None)[::-1][int(np.floor(outside + 1e-6))])
        return -a, a
    values = np.sort(C, axis=None)
    skipped = int(np.floor(outside / 2 + 1e-6))
    return bin_end(values[skipped]), bin_end(values[::-1][skipped])


def kept_columns(parameters):
    magnitude = np.abs(C).max(0)
    if parameters.get("activation_threshold", 0) > 0:
        return sorted(np.flatnonzero(magnitude >= parameters["activation_threshold"]).tolist())
    count = parameters.get("activation_keep", 0)
    return sorted(np.argsort(-magnitude, kind="stable")[:count].tolist())


def rounded(parameters):
    kept = kept_columns(parameters)
    x, c = X.astype(np.float64), C.astype(np.float64)
    x[:, kept] = 0
    c[:, kept] = 0
    per, range_ = parameters.get("activation_per", "token"), parameters.get("activation_range", "dynamic")
    share = parameters.get("activation_group_size", 128) if per == "group" else x.shape[1]
    format_, sym = parameters["activations"], parameters.get("activation_sym", True)
    out = np.empty_like(x)
    for first in range(0, x.shape[1], share):
        run = slice(first, first + share)
        of = c[:, run] if range_ == "max" else x[:, run]
        axis = 1 if range_ == "dynamic" and per != "tensor" else None
        low = np.minimum(of.min(axis=axis, keepdims=True), 0)
        high = np.maximum(of.max(axis=axis, keepdims=True), 0)
        if range_ == "percentile":
            low, high = (np.array([[end]]) for end in percentile_range(parameters.get("activation_percentile", 99.9), sym))
        if format_.startswith("int"):
            out[:, run] = to_integers(x[:, run], low, high, int(format_[3:]), sym)
        elif format_.startswith("fp8_"):
            out[:, run] = to_fp8(x[:, run], low, high, ELEMENTS[format_[4:]])
        elif format_ == "nvfp4":
            out[:, run] = to_nvfp4(x[:, run], low, high)
        else:
            out[:, run] = to_mx(x[:, run], ELEMENTS["e2m1" if format_ == "mxfp4" else format_.split("_")[1]])
    out = out.astype(np.float32)
    out[:, kept] = X[:, kept]
    return out, kept


CASES = [{"activations": f"int{bits}"} for bits in range(2, 9)]
CASES += [{"activations": f"int{bits}", "activation_sym": False} for bits in (2, 4, 8)]
CASES += [{"activations": format_} for format_ in ("fp8_e4m3", "fp8_e5m2", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3",
                                                   "mxfp8_e5m2", "nvfp4")]
for format_ in ("int4", "int8", "fp8_e4m3"):
    CASES += [{"activations": format_, "activation_per": "group", "activation_group_size": 32},
              {"activations": format_, "activation_per": "tensor"},
              {"activations": format_, "activation_per": "tensor", "activation_range": "max"},
              {"activations": format_, "activation_per": "group", "activation_group_size": 24, "activation_range": "max"},
              {"activations": format_, "activation_per": "tensor", "activation_range": "percentile", "activation_percentile": 99.0},
              {"activations": format_, "activation_keep": 3},
              {"activations": format_, "activation_threshold": 8.0}]
CASES += [{"activations": "int8", "activation_sym": False, "activation_per": "tensor", "activation_range": "percentile"},
          {"activations": "int4", "activation_sym": False, "activation_per": "tensor", "activation_range": "max",
           "activation_keep": 2},
          {"activations": "nvfp4", "activation_per": "tensor"},
          {"activations": "nvfp4", "activation_per": "tensor", "activation_range": "max"},
          {"activations": "mxfp4", "activation_keep": 4}]

tensors = {"W": W, "X": X, "C": C}
described = []
for number, parameters in enumerate(CASES):
    made, kept = rounded(parameters)
    tensors[f"rounded.{number}"] = made
    if number % 6 == 0:
        tensors[f"product.{number}"] = made.astype(np.float64) @ W.astype(np.float64).T
    described.append({"name": str(number), "parameters": parameters, "kept": kept})
folder = sys.argv[1]
save_file(tensors, f"{folder}/activations_reference.safetensors", {"numpy": np.__version__})
with open(f"{folder}/activations_reference.json", "w", encoding="utf-8") as file:
    json.dump({"numpy": np.__version__, "cases": described}, file, indent=1)
    file.write("\n")
