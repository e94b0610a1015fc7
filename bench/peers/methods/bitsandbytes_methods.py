#!/usr/bin/env python3
"""NF4, FP4 and LLM.int8 of the small models by bitsandbytes: writes bench/methods/data/references/bitsandbytes.json.

Run it with the python of `bench/peers/setup FOLDER PYTHON bitsandbytes` with transformers and tokenizers beside it.
"""
import reference


def four_bit(kind, double=False):
    def change(weight):
        from bitsandbytes import functional
        # As one row: dequantize_4bit takes wrong factors on a processor where a row is no multiple of a block.
        codes, state = functional.quantize_4bit(weight.reshape(1, -1), blocksize=64, quant_type=kind, compress_statistics=double)
        return functional.dequantize_4bit(codes, state).reshape(weight.shape)
    return reference.each_weight(change)


def int8_weight(weight):
    from bitsandbytes import functional
    codes, maxima, _ = functional.int8_vectorwise_quant(weight.half())
    return functional.int8_vectorwise_dequant(codes, maxima).float()


def llm_int8(threshold):
    def method(model, _):
        import bitsandbytes
        import torch
        for name, linear in reference.linears(model):
            ours = bitsandbytes.nn.Linear8bitLt(linear.in_features, linear.out_features, bias=linear.bias is not None,
                                                has_fp16_weights=False, threshold=threshold)
            ours.weight = bitsandbytes.nn.Int8Params(linear.weight.detach().clone(), requires_grad=False, has_fp16_weights=False)
            if linear.bias is not None:
                ours.bias = torch.nn.Parameter(linear.bias.detach().clone())
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, ours.to("cpu"))
        return model.eval()  # in training it multiplies by the weight in float and rounds no input
    return method


METHODS = {
    "nf4": four_bit("nf4"),
    "nf4 double": four_bit("nf4", double=True),
    "fp4": four_bit("fp4"),
    "int8 weights": reference.each_weight(int8_weight),
    "int8 threshold 6": llm_int8(6.0),
    "int8 threshold 0": llm_int8(0.0),
}


def versions():
    import bitsandbytes
    import torch
    import transformers
    return {"bitsandbytes": bitsandbytes.__version__, "torch": torch.__version__, "transformers": transformers.__version__}


if __name__ == "__main__":
    reference.run("bitsandbytes", METHODS, versions)
