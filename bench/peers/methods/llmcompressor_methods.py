#!/usr/bin/env python3
"""RTN, GPTQ, AWQ, SmoothQuant and rounded inputs of the small models by llm-compressor and compressed-tensors: writes
bench/methods/data/references/llmcompressor.json.

Run it with the python of `bench/peers/setup FOLDER PYTHON llmcompressor` with tokenizers beside it. Grids, groups, damping and order are
those of the settings; mappings of AWQ and SmoothQuant are the package's own for the model.
"""
import reference

ACTIVATIONS = {"int8": {"num_bits": 8, "type": "int"}, "int4": {"num_bits": 4, "type": "int"},
               "fp8_e4m3": {"num_bits": 8, "type": "float"}}


def scheme(weights=None, inputs=None):
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    given = {}
    if weights:
        given["weights"] = QuantizationArgs(**weights)
    if inputs:
        given["input_activations"] = QuantizationArgs(symmetric=True, strategy="token", dynamic=True, **ACTIVATIONS[inputs])
    return {"config_groups": {"all": QuantizationScheme(targets=["Linear"], **given)}, "ignore": ["re:.*embed_out", "re:.*lm_head"]}


def grid(bits, symmetric=True):
    return {"num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": "group", "group_size": reference.settings.GROUP}


def row_grid(bits, kind="int"):
    return {"num_bits": bits, "type": kind, "symmetric": True, "strategy": "channel"}


def oneshot(recipe, needs_rows=True):
    def method(model, rows):
        import torch
        from datasets import Dataset
        from llmcompressor import oneshot as compress
        torch.Tensor.pin_memory = lambda tensor, *_: tensor  # it pins what it caches, also where there is no device
        more = {}
        if needs_rows:
            more = {"dataset": Dataset.from_dict({"input_ids": rows.tolist(), "attention_mask": (rows * 0 + 1).tolist()}),
                    "num_calibration_samples": len(rows), "max_seq_length": rows.shape[1], "shuffle_calibration_samples": False}
        compress(model=model, recipe=recipe(), tie_word_embeddings=False, **more)
        return model.eval()
    return method


def nearest(*arguments):
    def recipe():
        from llmcompressor.modifiers.quantization import QuantizationModifier
        return [QuantizationModifier(**scheme(*arguments))]
    return oneshot(recipe, needs_rows=False)


def gptq(weights, inputs=None, order=None):
    def recipe():
        from llmcompressor.modifiers.gptq import GPTQModifier
        return [GPTQModifier(**scheme(weights, inputs), dampening_frac=0.01, actorder=order)]
    return oneshot(recipe)


def awq(bits):
    def recipe():
        from llmcompressor.modifiers.quantization import QuantizationModifier
        from llmcompressor.modifiers.transform.awq import AWQModifier
        return [AWQModifier(duo_scaling=True, n_grid=20), QuantizationModifier(**scheme(grid(bits, symmetric=False)))]
    return oneshot(recipe)


def smoothquant(*arguments):
    def recipe():
        from llmcompressor.modifiers.quantization import QuantizationModifier
        from llmcompressor.modifiers.transform.smoothquant import SmoothQuantModifier
        return [SmoothQuantModifier(smoothing_strength=0.5), QuantizationModifier(**scheme(*arguments))]
    return oneshot(recipe)


METHODS = {
    "rtn 8": nearest(grid(8)),
    "rtn 4": nearest(grid(4)),
    "rtn 3": nearest(grid(3)),
    "rtn fp8_e4m3": nearest(row_grid(8, "float")),
    "inputs int8": nearest(None, "int8"),
    "inputs int4": nearest(None, "int4"),
    "inputs fp8_e4m3": nearest(None, "fp8_e4m3"),
    "rtn W8A8": nearest(row_grid(8), "int8"),
    "rtn W4A8": nearest(grid(4), "int8"),
    "rtn W4A4": nearest(grid(4), "int4"),
    "rtn W8A8 fp8_e4m3": nearest(row_grid(8, "float"), "fp8_e4m3"),
    "gptq 4": gptq(grid(4)),
    "gptq 3": gptq(grid(3)),
    "gptq 3 desc_act": gptq(grid(3), order="static"),
    "gptq W8A8": gptq(row_grid(8), "int8"),
    "gptq W4A8": gptq(grid(4), "int8"),
    "gptq W4A4": gptq(grid(4), "int4"),
    "awq 4": awq(4),
    "awq 3": awq(3),
    "rtn W8A8 smoothquant": smoothquant(row_grid(8), "int8"),
    "rtn W4A4 smoothquant": smoothquant(grid(4), "int4"),
}


def versions():
    import compressed_tensors
    import llmcompressor
    import torch
    import transformers
    return {"llm-compressor": llmcompressor.__version__, "compressed-tensors": compressed_tensors.__version__,
            "torch": torch.__version__, "transformers": transformers.__version__}


if __name__ == "__main__":
    reference.run("llmcompressor", METHODS, versions)
