#!/usr/bin/env python3
"""MXFP4 and NVFP4 of the small models by torchao: writes bench/methods/data/references/torchao.json.

Run it with a python that has torchao 0.18.0, torch, transformers and tokenizers. Inputs of linears are rounded by the same functions as
weights; the second scale of NVFP4 is that of a token's row, as quench has it.
"""
import reference


def mxfp4(tensor):
    import torch
    from torchao.prototype.mx_formats.mx_tensor import MXTensor, ScaleCalculationMode
    rows = tensor.reshape(-1, tensor.shape[-1]).contiguous()
    made = MXTensor.to_mx(rows, torch.float4_e2m1fn_x2, 32, ScaleCalculationMode.FLOOR)
    return made.dequantize(torch.float32).reshape(tensor.shape)


def nvfp4(tensor):
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    made = NVFP4Tensor.to_nvfp4(tensor, per_tensor_scale=per_tensor_amax_to_scale(tensor.abs().max()))
    return made.dequantize(torch.float32)


def nvfp4_by_row(tensor):
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    rows = tensor.reshape(-1, 1, tensor.shape[-1]).contiguous()  # as experts of one row each, which have scales of their own
    largest = rows.abs().amax(2, keepdim=True).clamp(min=1e-30)
    made = NVFP4Tensor.to_nvfp4(rows, per_tensor_scale=per_tensor_amax_to_scale(largest))
    return made.dequantize(torch.float32).reshape(tensor.shape)


METHODS = {
    "rtn mxfp4": reference.each_weight(mxfp4),
    "rtn nvfp4": reference.each_weight(nvfp4),
    "inputs mxfp4": reference.each_input(mxfp4),
    "rtn W4A4 mxfp4": reference.each_input(mxfp4, weight=mxfp4),
    "inputs nvfp4": reference.each_input(nvfp4_by_row),
    "rtn W4A4 nvfp4": reference.each_input(nvfp4_by_row, weight=nvfp4),
}


def versions():
    import torch
    import torchao
    import transformers
    return {"torchao": torchao.__version__, "torch": torch.__version__, "transformers": transformers.__version__}


if __name__ == "__main__":
    reference.run("torchao", METHODS, versions)
