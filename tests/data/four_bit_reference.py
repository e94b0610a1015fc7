#!/usr/bin/env python3
"""Makes four_bit_reference.safetensors: weights in the 4-bit types of bitsandbytes, on the CPU, with float32 factors and
with factors in 8 bits (compress_statistics).

  python3 tests/data/four_bit_reference.py tests/data       # torch 2.11.0, bitsandbytes 0.50.2, safetensors

Per weight W.NAME (float32 [out, in]): NAME.TYPE.codes (uint8, one a weight), .absmax; with coded factors .factor_codes,
.factor_maxima, .factor_mean; of the smaller weight also .weight and .double_weight, dequantized. factor_levels: the 256 values of their table.
"""
import sys

import torch
from bitsandbytes import functional as F
from safetensors.torch import save_file

generator = torch.Generator().manual_seed(20)
weights = {
    "odd": torch.randn(24, 100, generator=generator) * 0.02,  # 37.5 blocks of 64
    "blocks": torch.randn(64, 320, generator=generator) ** 3,  # 320 blocks: two of factors, heavy tails
}
weights["odd"][3] = 0
weights["blocks"][5, :128] = 0
out = {}
for name, weight in weights.items():
    out[f"W.{name}"] = weight
    for kind in ("nf4", "fp4"):
        key = f"{name}.{kind}"
        packed, state = F.quantize_4bit(weight, blocksize=64, quant_type=kind)
        out[f"{key}.codes"] = torch.stack((packed >> 4, packed & 15), -1).reshape(weight.shape)
        out[f"{key}.absmax"] = state.absmax
        if name == "odd":
            out[f"{key}.weight"] = F.dequantize_4bit(packed, state)
        packed, state = F.quantize_4bit(weight, blocksize=64, quant_type=kind, compress_statistics=True)
        out[f"{key}.factor_codes"] = state.absmax
        out[f"{key}.factor_maxima"] = state.state2.absmax
        out[f"{key}.factor_mean"] = state.offset.reshape(1)
        if name == "odd":
            out[f"{key}.double_weight"] = F.dequantize_4bit(packed, state)
        out["factor_levels"] = state.state2.code
save_file({k: v.contiguous().clone() for k, v in out.items()}, sys.argv[1] + "/four_bit_reference.safetensors")
