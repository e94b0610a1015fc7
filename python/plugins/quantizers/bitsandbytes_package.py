"""The types of bitsandbytes by the package's own functions on the processor: beside `nf4`, `fp4` and `int8`."""

import quench

__version__ = "0.1.0"


def bits_of(*tensors):
    return sum(8 * one.numel() * one.element_size() for one in tensors)


@quench.quantizer(
    reference="Dettmers et al. 2023, QLoRA, arXiv 2305.14314", example="{quant_type: nf4}",
    quant_type=quench.Choice("fp4", "nf4", meaning="the sixteen values"),
    blocksize=quench.Integer(64, low=32, high=4096, meaning="consecutive weights that share a factor, a power of two"),
    compress_statistics=quench.Boolean(False, meaning="whether to store the factors in 8 bits, in blocks of 256"))
def bitsandbytes_4bit(weight, quant_type, blocksize, compress_statistics):
    """The 4-bit types of bitsandbytes by its quantize_4bit and dequantize_4bit."""
    import torch
    from bitsandbytes import functional

    # As one row: quantize_4bit counts blocks across rows, but dequantize_4bit on the processor (0.50.2) counts whole
    # blocks of each row, and takes wrong factors where a row is no multiple of a block.
    whole = torch.tensor(weight, dtype=torch.float32).reshape(1, -1)
    packed, state = functional.quantize_4bit(whole, blocksize=blocksize, quant_type=quant_type,
                                             compress_statistics=compress_statistics)
    made = functional.dequantize_4bit(packed, state).reshape(weight.shape)
    factors, tensors = [state.absmax], {"absmax": state.absmax.numpy()}
    if compress_statistics:
        factors += [state.state2.absmax, state.offset]
        tensors = {"absmax_codes": state.absmax.numpy(), "absmax_maxima": state.state2.absmax.numpy(),
                   "absmax_mean": state.offset.reshape(1).numpy()}
    codes = torch.stack([packed >> 4, packed & 15], -1).flatten()[:weight.size].reshape(weight.shape)
    return quench.Quantized(made.numpy(), 4 + bits_of(*factors) / weight.size,
                            tensors={"indices": codes.numpy(), **tensors})


@quench.quantizer(
    reference="Dettmers et al. 2022, LLM.int8(), arXiv 2208.07339", example="{}",
    dtype=quench.Choice("float16", "bfloat16", "float32",
                        meaning="what the weight is rounded to before it is coded; Int8Params has float16"))
def bitsandbytes_int8(weight, dtype):
    """The weights of bitsandbytes' LLM.int8() by its int8_vectorwise_quant; inputs stay in float."""
    import torch
    from bitsandbytes import functional

    given = torch.tensor(weight, dtype=torch.float32).to(getattr(torch, dtype))
    codes, maxima, _ = functional.int8_vectorwise_quant(given)
    made = functional.int8_vectorwise_dequant(codes, maxima)
    return quench.Quantized(made.float().numpy(), 8 + bits_of(maxima) / weight.size, codes=codes.int().numpy() + 128,
                            scales=(maxima.double() / 127)[:, None].numpy(), zeros=[[128.0]] * len(weight),
                            g_idx=[0] * weight.shape[1])
