#!/usr/bin/env python3
"""HQQ of the small models by its package: writes bench/methods/data/references/hqq.json.

Run it with the python of `bench/peers/setup FOLDER PYTHON hqq` with tokenizers beside it.
"""
import reference


def hqq(bits):
    def change(weight):
        import torch
        from hqq.core.quantize import BaseQuantizeConfig, Quantizer
        settings = BaseQuantizeConfig(nbits=bits, group_size=reference.settings.GROUP, axis=1)["weight_quant_params"]
        settings.pop("view_as_float")
        codes, meta = Quantizer.quantize(weight, **settings, bitpack=False, device="cpu")  # packing changes no code, and refuses some shapes
        meta["compute_dtype"] = torch.float16
        return Quantizer.dequantize(*Quantizer.to_inplace(codes, meta, device="cpu")).float()  # as HQQLinear stores them
    return reference.each_weight(change)


METHODS = {"hqq 4": hqq(4), "hqq 3": hqq(3)}


def versions():
    import hqq
    import torch
    import transformers
    return {"hqq": hqq.__version__, "torch": torch.__version__, "transformers": transformers.__version__}


if __name__ == "__main__":
    reference.run("hqq", METHODS, versions)
