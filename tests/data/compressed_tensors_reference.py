#!/usr/bin/env python3
"""Makes the folder compressed_tensors: linears that the package compressed into its layouts for floats, and what they stand for.

  python3 tests/data/compressed_tensors_reference.py tests/data     # compressed-tensors 0.20.0, torch 2.15.0, safetensors 0.8.0

Per case a folder with config.json and model.safetensors, as the package's compressor and its QuantizationConfig give them,
and NAME.safetensors with, per linear M,

  M.weight         float32, by the package's dequantize in float32
  M.decompressed   by its decompressor, in the type that it chooses: bfloat16 of FP4, FP6 and MXFP8, else that of the scales
  M.codes          uint8 [out, in], the element of each weight
  M.scales         float64 [out, groups], of nvfp4 the products of both levels; not of two-dimensional blocks

Scales are the package's own, by calculate_qparams and generate_gparam. Among the weights are ties of the element's rounding, zeros of
both signs, a row of zeros, and, where a linear is called "cut", scales that are about halved, so that much is cut off. "shared"
has the global scale of another linear, as the package's users give it to those that are computed together. The largest scale of a linear is
above half the largest of E4M3: else the same scales would also be half the numbers over twice the global scale.
"""
import json
import os
import sys

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.mx_utils import decompress_mx_scale
from compressed_tensors.compressors.mxfp6.helpers import unpack_fp6_from_uint8
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import save_file

FP8 = torch.float8_e4m3fn
FLOAT = dict(type="float", symmetric=True, dynamic=False)
MX = dict(FLOAT, strategy="group", group_size=32, scale_dtype=torch.uint8)

# case: layout, arguments of the weights, shapes of linears, type of the scales
CASES = {
    "nvfp4": ("nvfp4-pack-quantized", dict(FLOAT, num_bits=4, strategy="tensor_group", group_size=16, scale_dtype=FP8),
              {"a": (6, 48), "cut": (3, 16), "shared": (5, 32)}, None),
    "mxfp4": ("mxfp4-pack-quantized", dict(MX, num_bits=4), {"a": (5, 64), "cut": (3, 32)}, None),
    "mxfp6": ("mxfp6-pack-quantized", dict(MX, num_bits=6), {"a": (5, 64), "cut": (3, 32)}, None),
    "mxfp8": ("mxfp8-quantized", dict(MX, num_bits=8), {"a": (5, 64), "cut": (3, 32)}, None),
    "fp8_tensor": ("float-quantized", dict(FLOAT, num_bits=8, strategy="tensor"), {"a": (5, 24), "cut": (3, 7)}, torch.float32),
    "fp8_channel": ("float-quantized", dict(FLOAT, num_bits=8, strategy="channel"), {"a": (5, 24), "cut": (3, 7)}, torch.float32),
    "fp8_group": ("float-quantized", dict(FLOAT, num_bits=8, strategy="group", group_size=8), {"a": (5, 24), "cut": (3, 8)},
                  torch.float32),
    "fp8_block": ("float-quantized", dict(FLOAT, num_bits=8, strategy="block", block_structure=[4, 16]),
                  {"a": (8, 32), "cut": (9, 40)}, torch.float32),  # 9 rows and 40 columns: blocks that are cut off
    "fp8_bfloat16": ("naive-quantized", dict(FLOAT, num_bits=8, strategy="channel"), {"a": (5, 24)}, torch.bfloat16),
}
TIES = {4: [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], 6: [0.0625, 0.1875, 1.0625, 1.1875, 2.125, 7.25],
        8: [2.0 ** -10, 3 * 2.0 ** -10, 1.0625, 1.1875, 17, 19, 432]}


def ranges(weight, args):
    """Extremes of the weights that share a scale, in the shape of the scales."""
    rows, columns = weight.shape
    if args.strategy == "tensor":
        return weight.min().reshape(1), weight.max().reshape(1)
    if args.strategy == "channel":
        return weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
    if args.strategy == "block":
        high, wide = args.block_structure
        parts = [[weight[r:r + high, c:c + wide] for c in range(0, columns, wide)] for r in range(0, rows, high)]
        return tuple(torch.stack([torch.stack([f(p) for p in row]) for row in parts]) for f in (torch.min, torch.max))
    grouped = weight.reshape(rows, -1, args.group_size)
    return grouped.amin(-1), grouped.amax(-1)


def spread(scale, args, shape):
    """A scale for every weight."""
    if args.strategy == "block":
        high, wide = args.block_structure
        return scale.repeat_interleave(high, 0)[:shape[0]].repeat_interleave(wide, 1)[:, :shape[1]]
    if args.strategy == "tensor":
        return scale.expand(shape)
    return scale.repeat_interleave(shape[1] // scale.shape[1], 1)


def made_weight(shape, args, name, generator):
    weight = torch.randn(shape, generator=generator) * (0.035 if name == "shared" else 0.05)
    weight[-1] = 0
    weight[0, 0], weight[0, 1] = 0.0, -0.0
    return weight


def state_of(weight, args, scale_type, name, given_global):
    low, high = ranges(weight, args)
    state = {}
    if args.strategy == "tensor_group":
        state["weight_global_scale"] = generate_gparam(low.min(), high.max()) if given_global is None else given_global
    scale, _ = calculate_qparams(low, high, args, global_scale=state.get("weight_global_scale"))
    if name == "cut" and args.scale_dtype == FP8:
        scale = (scale * 0.6).to(FP8).float()
    elif name == "cut":
        scale = torch.clamp(scale / 2, min=2.0 ** -127)
    state["weight_scale"] = scale if scale_type is None else scale.to(scale_type)
    # Ties: exact multiples of scales that are there, where the products are floats.
    wide = spread(state["weight_scale"].float(), args, weight.shape)
    if "weight_global_scale" in state:
        wide = wide / state["weight_global_scale"]
    for i, tie in enumerate(TIES[args.num_bits]):
        at = (i % (weight.shape[0] - 1), 2 + i % (weight.shape[1] - 2))
        weight[at] = wide[at] * tie * (-1) ** i
    state["weight"] = weight
    return state


def numbers_and_scales(state, args):
    """Elements and scales of a compressed linear, in float32."""
    if args.num_bits == 8:
        numbers = state["weight"].float()
    else:
        packed = state["weight_packed"]
        rows, columns = packed.shape[0], packed.shape[1] * 8 // args.num_bits
        unpack = unpack_fp4_from_uint8 if args.num_bits == 4 else unpack_fp6_from_uint8
        numbers = unpack(packed, rows, columns, torch.float32)
    scale = state["weight_scale"]
    return numbers, (decompress_mx_scale(scale) if scale.dtype == torch.uint8 else scale).float()


def codes_of(numbers, bits):
    """Codes of elements: sign, exponent, mantissa."""
    if bits == 8:
        return numbers.to(FP8).view(torch.uint8)
    magnitudes = {4: [0, .5, 1, 1.5, 2, 3, 4, 6], 6: [m / 8 for m in range(8)] + [(1 + m / 8) * 2 ** e for e in range(3) for m in range(8)]}
    found = torch.searchsorted(torch.tensor(magnitudes[bits]), numbers.abs()).to(torch.uint8)
    return found | (torch.signbit(numbers).to(torch.uint8) << (bits - 1))


def make(case, folder):
    layout, arguments, shapes, scale_type = CASES[case]
    args = QuantizationArgs(**arguments)
    scheme = QuantizationScheme(targets=["Linear"], weights=args, format=layout)
    compressor = BaseCompressor.get_value_from_registry(layout)
    generator = torch.Generator().manual_seed(40)
    tensors, wanted, first_global = {}, {}, None
    for name, shape in shapes.items():
        state = state_of(made_weight(shape, args, name, generator), args, scale_type, name, first_global if name == "shared" else None)
        first_global = state.get("weight_global_scale") if first_global is None else first_global
        compressed = compressor.compress(dict(state), scheme)
        numbers, scale = numbers_and_scales(compressed, args)
        weight = dequantize(numbers, scale, args=args, dtype=torch.float32, global_scale=compressed.get("weight_global_scale"))
        wanted[name + ".weight"] = weight.contiguous()
        wanted[name + ".decompressed"] = compressor.decompress(dict(compressed), scheme)["weight"].contiguous()
        wanted[name + ".codes"] = codes_of(numbers, args.num_bits).contiguous()
        if args.strategy != "block":
            wide = scale.double()
            if "weight_global_scale" in compressed:
                tensor = (1 / compressed["weight_global_scale"].double()).float().double()
                # A writer that is given the products alone can then find the same number again.
                assert (1 / tensor).float() == compressed["weight_global_scale"], name
                assert scale.max() > 224, name
                wide = wide * tensor
            wanted[name + ".scales"] = wide.reshape(-1, 1) if args.strategy == "tensor" else wide.contiguous()
        tensors.update({f"{name}.{part}": value.detach().contiguous().clone() for part, value in compressed.items()})
    tensors["other.bias"] = torch.ones(3, dtype=torch.bfloat16)
    os.makedirs(os.path.join(folder, case), exist_ok=True)
    save_file(tensors, os.path.join(folder, case, "model.safetensors"))
    config = QuantizationConfig(config_groups={"group_0": scheme}, format=layout, quantization_status="compressed", ignore=["lm_head"])
    with open(os.path.join(folder, case, "config.json"), "w") as file:
        json.dump({"quantization_config": json.loads(json.dumps(config.to_dict(), default=str))}, file, indent=1, sort_keys=True)
        file.write("\n")
    save_file(wanted, os.path.join(folder, case + ".safetensors"))


if __name__ == "__main__":
    for each in CASES:
        make(each, os.path.join(sys.argv[1], "compressed_tensors"))
