#!/usr/bin/env python3
"""Writes tests/data/activations_published.safetensors: inputs rounded by compressed-tensors' fake quantization, the operator with
which llm-compressor and vLLM hold W8A8, W4A4, FP8, MXFP4 and NVFP4 models against their float ones.

  python3 bench/peers/activations_published.py tests/data      # torch, compressed-tensors, safetensors

X [32, 256] float32; `<case>` [32, 256] float32. Scales are the package's dynamic ones. It computes them and quotients in float32,
quench in float64: values differ by roundings, and a code where a quotient lies at a tie.
"""
import sys

import compressed_tensors
import torch
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import fake_quantize
from compressed_tensors.quantization.utils import compute_dynamic_scales_and_zp
from safetensors.torch import save_file

torch.manual_seed(5)
X = torch.randn(32, 256) * torch.exp(0.7 * torch.randn(256))
X[3] = X[3].abs()
# The operator's rows of one token are the first two dimensions.
CASES = {
    "int8": {"num_bits": 8, "strategy": "token"},
    "int4": {"num_bits": 4, "strategy": "token"},
    "int8.tensor": {"num_bits": 8, "strategy": "tensor"},
    "int4.group32": {"num_bits": 4, "strategy": "group", "group_size": 32},
    "fp8_e4m3": {"num_bits": 8, "type": "float", "strategy": "token"},
}
out = {"X": X}
for name, arguments in CASES.items():
    args = QuantizationArgs(symmetric=True, dynamic=True, **arguments)
    x = X.unsqueeze(0)
    scale, zero = compute_dynamic_scales_and_zp(x, args, torch.nn.Module())
    out[name] = fake_quantize(x=x, scale=scale, zero_point=zero, args=args).squeeze(0).contiguous()
save_file(out, f"{sys.argv[1]}/activations_published.safetensors",
          {"compressed-tensors": compressed_tensors.__version__, "torch": torch.__version__})
