#!/usr/bin/env python3
"""Makes number_formats_reference.safetensors: elements as ml_dtypes encodes and decodes them, and blocks as numpy and torchao
round them.

  python3 tests/data/number_formats_reference.py tests/data       # ml_dtypes 0.6.0, numpy 2.4.6, torch 2.15.0, torchao 0.18.0

Per element type T (e2m1, e2m3, e3m2, e4m3, e5m2): T.numbers float64, what each code stands for; T.inputs float64, all
midpoints of neighbours, the float32 beside them and beside the numbers, subnormal, large, infinite and NaN ones; T.codes, what
ml_dtypes makes of them; T.saturated, of the same clipped to the largest number. e8m0.numbers: of all 256 scales.

Per format F: F.weight, of W.linear rounded block by block, and F.scales float64 [rows, blocks], both in numpy alone: elements
from ml_dtypes' numbers, scales as docs/number_formats.md says. Of MX formats and nvfp4 also F.torchao, float32, and F.torchao_scales, uint8:
E8M0 (mode FLOOR) or E4M3.
"""
import sys

import ml_dtypes
import numpy as np

TYPES = {"e2m1": ml_dtypes.float4_e2m1fn, "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
         "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
LARGEST = {"e2m1": 6.0, "e2m3": 7.5, "e3m2": 28.0, "e4m3": 448.0, "e5m2": 57344.0}
WIDTH = {"e2m1": 4, "e2m3": 6, "e3m2": 6, "e4m3": 8, "e5m2": 8}
EMAX = {"e2m1": 2, "e2m3": 2, "e3m2": 4, "e4m3": 8, "e5m2": 15}  # table 1 and 2 of OCP MX v1.0
MX = {"mxfp4": "e2m1", "mxfp6_e2m3": "e2m3", "mxfp6_e3m2": "e3m2", "mxfp8_e4m3": "e4m3", "mxfp8_e5m2": "e5m2"}


def codes_of(values, name):
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float64).astype(TYPES[name]).view(np.uint8)


def numbers_of(name):
    return np.arange(1 << WIDTH[name], dtype=np.uint8).view(TYPES[name]).astype(np.float64)


def inputs_of(name):
    numbers = numbers_of(name)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    step = numbers[-1] - numbers[-2]
    middles = np.concatenate([(numbers[1:] + numbers[:-1]) / 2, [numbers[-1] + step / 2, -numbers[-1] - step / 2]])
    exact = np.concatenate([numbers, middles])
    exact = exact.astype(np.float32)  # ml_dtypes rounds a float64 to float32 first, so its neighbours would become ties
    beside = np.concatenate([np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))])
    odd = [-0.0, 5e-324, -5e-324, 1e-310, 1e30, -1e300, np.inf, -np.inf]
    return np.concatenate([exact, beside, odd, [np.nan, -np.nan] if name in ("e4m3", "e5m2") else []])


def nearest(ratio, name):
    """Saturating; in float64, which ml_dtypes would round twice."""
    numbers = numbers_of(name)[:1 << (WIDTH[name] - 1)]  # codes without a sign ascend
    numbers = numbers[np.isfinite(numbers)]
    magnitude = np.minimum(np.abs(ratio), LARGEST[name])
    above = np.searchsorted(numbers, magnitude)  # the first number that is not below
    below = np.maximum(above - 1, 0)
    up, down = numbers[above] - magnitude, magnitude - numbers[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    return np.copysign(numbers[code], ratio)


def blocks_of(weight, size):
    return weight.reshape(weight.shape[0], -1, size)


def mx(weight, name):
    blocks = blocks_of(weight, 32)
    largest = np.abs(blocks).max(-1)
    exponent = np.full(largest.shape, -127)
    some = largest > 0
    exponent[some] = np.clip(np.frexp(largest[some])[1] - 1 - EMAX[name], -127, 127)
    scales = np.ldexp(1.0, exponent)
    return scales, scales[..., None] * nearest(blocks / scales[..., None], name)


def nvfp4(weight):
    blocks = blocks_of(weight, 16)
    tensor = np.float64(np.float32(np.abs(weight).max() / (6 * 448)))
    scales = nearest(np.abs(blocks).max(-1) / 6 / tensor, "e4m3")
    scales = tensor * np.maximum(scales, 2.0**-9)
    return scales, scales[..., None] * nearest(blocks / scales[..., None], "e2m1")


def scaled(weight, size, element, statistic):
    blocks = blocks_of(weight, size)
    scales = np.float64(np.float32(statistic(np.abs(blocks))))
    return scales, scales[..., None] * element(np.divide(blocks, scales[..., None]))


def rounded(weight):
    out = {format_: mx(weight, name) for format_, name in MX.items()}
    out["nvfp4"] = nvfp4(weight)
    for name in ("e4m3", "e5m2"):
        out["fp8_" + name] = scaled(weight, 64, lambda ratio: nearest(ratio, name), lambda a: a.max(-1) / LARGEST[name])
    out["ternary"] = scaled(weight, 64, lambda ratio: np.clip(np.rint(ratio), -1, 1), lambda a: a.mean(-1))
    out["binary"] = scaled(weight, 64, lambda ratio: np.where(ratio >= 0, 1.0, -1.0), lambda a: a.mean(-1))
    return out


def torchao_mx(weight, format_):
    import torch
    from torchao.prototype.mx_formats.constants import DTYPE_FP6_E2M3, DTYPE_FP6_E3M2
    from torchao.prototype.mx_formats.mx_tensor import MXTensor, ScaleCalculationMode
    types = {"mxfp4": torch.float4_e2m1fn_x2, "mxfp6_e2m3": DTYPE_FP6_E2M3, "mxfp6_e3m2": DTYPE_FP6_E3M2,
             "mxfp8_e4m3": torch.float8_e4m3fn, "mxfp8_e5m2": torch.float8_e5m2}
    made = MXTensor.to_mx(torch.from_numpy(weight), types[format_], 32, ScaleCalculationMode.FLOOR)
    return made.scale.view(torch.uint8).numpy(), made.dequantize(torch.float32).numpy()


def torchao_nvfp4(weight):
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    tensor = torch.from_numpy(weight)
    made = NVFP4Tensor.to_nvfp4(tensor, per_tensor_scale=per_tensor_amax_to_scale(tensor.abs().max()))
    return made.scale.view(torch.uint8).numpy(), made.dequantize(torch.float32).numpy()


def main(folder):
    from safetensors.numpy import save_file
    out = {"e8m0.numbers": np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)}
    for name in TYPES:
        inputs = inputs_of(name)
        out[name + ".numbers"] = numbers_of(name)
        out[name + ".inputs"] = inputs
        out[name + ".codes"] = codes_of(inputs, name)
        out[name + ".saturated"] = codes_of(np.where(np.isnan(inputs), inputs, np.clip(inputs, -LARGEST[name], LARGEST[name])), name)
    generator = np.random.default_rng(7)
    weight = (generator.standard_normal((12, 192)) * generator.lognormal(-3, 2, (12, 1))).astype(np.float32)
    weight[1, :96] *= np.float32(1e-3)
    weight[2, 32:64] = [np.float32(k / 8 * 6) for k in range(-16, 16)]  # ties of every format
    weight[3] = np.float32(2.0**-140) * np.arange(192, dtype=np.float32)  # subnormal: below the least E8M0
    out["W.linear"] = weight
    for format_, (scales, values) in rounded(weight.astype(np.float64)).items():
        out[format_ + ".scales"] = scales
        out[format_ + ".weight"] = values.reshape(weight.shape)
        if format_ in MX or format_ == "nvfp4":
            theirs, rounded_ = torchao_mx(weight, format_) if format_ in MX else torchao_nvfp4(weight)
            out[format_ + ".torchao_scales"] = theirs.reshape(scales.shape)
            out[format_ + ".torchao"] = rounded_
            print(format_, "rows in which torchao's values differ:", np.unique(np.nonzero(rounded_ != np.float32(values.reshape(weight.shape)))[0]))
    save_file({name: np.ascontiguousarray(value) for name, value in out.items()}, folder + "/number_formats_reference.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
