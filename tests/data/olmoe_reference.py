#!/usr/bin/env python3
"""Makes olmoe_reference.safetensors and olmoe_reference.json: two small OLMoE models with random weights, and what
Hugging Face transformers computes with them (OlmoeForCausalLM, eager attention, float64 weights and arithmetic but for
the float32 steps that the library itself takes, and float32).

  python3 tests/data/olmoe_reference.py tests/data       # torch 2.11.0, transformers 4.57.6, safetensors

Weights are multiples of 2^-10 of few digits, exact in float16 and drawn by numpy's PCG64, so the bytes are the same
everywhere. Written per model: its weights, ids [2, 24], logits float64 [2, 24, V], `block.i` the residual stream after
block i, `experts.i` the sorted experts of each token [48, k], `inputs.i` what they read [48, 32] float64.
"""
import json, sys
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import OlmoeConfig, OlmoeForCausalLM, __version__

MODELS = {
    # as published: all key heads, shares as the softmax has them
    "plain": dict(num_experts=8, num_experts_per_tok=2, norm_topk_prob=False, num_key_value_heads=4, clip_qkv=None),
    # what the config can also say
    "variant": dict(num_experts=5, num_experts_per_tok=3, norm_topk_prob=True, num_key_value_heads=2, clip_qkv=0.75, rope_theta=500.0),
}


def draw(shape, rng, center, spread):
    return torch.from_numpy(center + np.rint(rng.uniform(-spread, spread, shape) * 1024) / 1024)


def make(settings):
    config = OlmoeConfig(vocab_size=48, hidden_size=32, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
                         max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False, attn_implementation="eager",
                         **{"rope_theta": 10000.0, **settings})
    model = OlmoeForCausalLM(config).double().eval()
    rng = np.random.Generator(np.random.PCG64(11))
    with torch.no_grad():
        for name, value in sorted(model.state_dict().items()):
            norm, router = name.endswith("norm.weight"), name.endswith("mlp.gate.weight")
            value.copy_(draw(value.shape, rng, 1.0 if norm else 0.0, 0.5 if norm else 2.0 if router else 0.3))
    ids = torch.from_numpy(rng.integers(0, 48, (2, 24)))
    return config, model, ids


def run(model, ids):
    """Logits, residual stream after each block, experts of each token, what they read."""
    outputs, picked, inputs = [], [], []
    hooks = [layer.register_forward_hook(lambda _, __, out: outputs.append(out[0] if isinstance(out, tuple) else out)) for layer in model.model.layers]
    for layer in model.model.layers:
        k = model.config.num_experts_per_tok
        hooks.append(layer.mlp.register_forward_hook(lambda _, given, out: inputs.append(given[0].reshape(48, 32)) or picked.append(torch.topk(out[1], k).indices.sort(-1).values)))
    with torch.no_grad():
        logits = model(ids, use_cache=False).logits
    for hook in hooks:
        hook.remove()
    return logits, outputs, picked, inputs


def main(folder):
    tensors, configs = {}, {"transformers": __version__, "torch": torch.__version__.split("+")[0]}
    for name, settings in MODELS.items():
        config, model, ids = make(settings)
        logits, outputs, picked, inputs = run(model, ids)
        single = run(model.float(), ids)
        assert all(torch.equal(a, b) for a, b in zip(picked, single[2])), "a pick is too close: float32 takes another"
        for key, value in model.state_dict().items():
            tensors[f"{name}/{key}"] = value.half().contiguous()
        tensors[f"{name}/ids"] = ids.int()
        tensors[f"{name}/logits"] = logits.contiguous()
        for i, (output, experts, read) in enumerate(zip(outputs, picked, inputs)):
            tensors[f"{name}/block.{i}"] = output.contiguous()
            tensors[f"{name}/inputs.{i}"] = read.contiguous()
            tensors[f"{name}/experts.{i}"] = experts.int().contiguous()
        kept = {k: v for k, v in config.to_dict().items() if k not in ("transformers_version", "_attn_implementation")}
        configs[name] = {"config": kept, "float32_distance": float((single[0].double() - logits).abs().max())}
    save_file(tensors, f"{folder}/olmoe_reference.safetensors")
    with open(f"{folder}/olmoe_reference.json", "w") as out:
        json.dump(configs, out, indent=1, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
