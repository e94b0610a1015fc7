"""HQQ as its own package computes it on the processor: beside the native `hqq`."""

import numpy

import quench

__version__ = "0.1.0"

TYPES = {"float16": 16, "bfloat16": 16, "float32": 32}  # bits of a scale, and of a zero


def grid_of(codes, meta, weight):
    """Codes, scales and zeros by row, where each group lies in one row; else nothing."""
    size = weight.shape[1] if meta["group_size"] is None else meta["group_size"]
    if meta["axis"] != 1 or weight.shape[1] % size != 0:
        return {}
    rows = weight.shape[0]
    return {"codes": codes.reshape(weight.shape).float().numpy(),
            "scales": meta["scale"].reshape(rows, -1).float().numpy(),
            "zeros": meta["zero"].reshape(rows, -1).float().numpy(), "g_idx": numpy.arange(weight.shape[1]) // size}


@quench.quantizer(
    reference="Badri and Shaji 2023, Half-Quadratic Quantization of Large Machine Learning Models",
    example="{nbits: 4, group_size: 64}",
    nbits=quench.Integer(4, low=1, high=8, meaning="bits per code; the package refuses 7"),
    group_size=quench.Integer(64, low=-1, meaning="weights that share a scale, a multiple of 8, across rows "
                                                  "where a row is no multiple of it; -1: a whole row (None)"),
    axis=quench.Integer(1, low=0, high=1, meaning="1: groups of consecutive weights, 0: of weights of different rows"),
    optimize=quench.Boolean(True, meaning="whether to search the zeros; if false, only the grid of the extremes"),
    round_zero=quench.Boolean(None, meaning="whether zeros start as integers; not set: as BaseQuantizeConfig has it, "
                                            "with 4 bits alone"),
    compute_dtype=quench.Choice("float16", "bfloat16", "float32",
                                meaning="type of scales and zeros, and of the weight that is made of them"))
def hqq_package(weight, linear, nbits, group_size, axis, optimize, round_zero, compute_dtype):
    """HQQ as its own package computes it on the processor, by the settings of its BaseQuantizeConfig."""
    import torch
    from hqq.core.quantize import BaseQuantizeConfig, Quantizer

    settings = BaseQuantizeConfig(nbits=nbits, group_size=None if group_size == -1 else group_size,
                                  axis=axis)["weight_quant_params"]
    settings["optimize"] = optimize
    if round_zero is not None:
        settings["round_zero"] = round_zero
    settings.pop("view_as_float")
    # Packing changes no code, and refuses some shapes.
    codes, meta = Quantizer.quantize(torch.tensor(weight, dtype=torch.float32), **settings, bitpack=False, device="cpu")
    meta["compute_dtype"] = getattr(torch, compute_dtype)
    codes, meta = Quantizer.to_inplace(codes, meta, device="cpu")  # as HQQLinear stores them
    made = Quantizer.dequantize(codes, meta).float().numpy()
    factors = meta["scale"].numel() + meta["zero"].numel()
    return quench.Quantized(made, nbits + TYPES[compute_dtype] * factors / weight.size, **grid_of(codes, meta, weight))
