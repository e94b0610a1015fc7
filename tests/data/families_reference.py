#!/usr/bin/env python3
"""Makes families/NAME.safetensors and families/NAME.json: a small model with random weights for each family below, and
what Hugging Face transformers computes with it (eager attention, which alone has Gemma 2's cap of scores; float64
weights and arithmetic but for the float32 steps that the library itself takes).

  python3 tests/data/families_reference.py tests/data             # torch 2.11.0, transformers 4.57.6, safetensors
  python3 tests/data/families_reference.py tests/data configs     # adds this version's config.json, which needs no weights

Weights are multiples of 2^-10 of few digits, exact in float16 and drawn by numpy's PCG64, so the bytes are the same
everywhere. Written per model: its weights, ids [2, 24], logits float64 [2, 24, V]. The JSON has the config that each
version of transformers writes, the mean loss of the 46 next ids, and the norm of its gradient by each parameter.
"""
import json, pathlib, sys
import numpy as np
from transformers import CONFIG_MAPPING, __version__

SIZES = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
             rms_norm_eps=1e-5, rope_theta=500.0, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None)
# Windows of 5 in rows of 24, caps that bend scores and logits, scales that differ from the usual ones.
MODELS = {
    "qwen2": dict(SIZES, num_hidden_layers=3, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "qwen3": dict(SIZES, num_hidden_layers=3, head_dim=8, use_sliding_window=True, sliding_window=5, max_window_layers=2),
    "olmo3": dict(SIZES, num_hidden_layers=4, sliding_window=5,
                  rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, attention_factor=1.1,
                                    beta_fast=2.0, beta_slow=0.5)),
    "gemma2": dict(SIZES, num_hidden_layers=3, head_dim=8, query_pre_attn_scalar=5, sliding_window=5, attn_logit_softcapping=3.0,
                   final_logit_softcapping=4.0, tie_word_embeddings=True),
    "gemma3_text": dict(SIZES, num_hidden_layers=4, head_dim=8, query_pre_attn_scalar=5, sliding_window=5, rope_local_base_freq=40.0,
                        layer_types=["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"],
                        rope_scaling=dict(rope_type="linear", factor=3.0), tie_word_embeddings=True),
    "dots1": dict(SIZES, num_hidden_layers=3, head_dim=8, moe_intermediate_size=12, n_shared_experts=2, n_routed_experts=6,
                  num_experts_per_tok=2, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, sliding_window=5,
                  max_window_layers=2),
}
CENTRED_AT_ZERO = ("gemma2", "gemma3_text")  # their norms multiply by 1 + w


def config_of(name):
    return CONFIG_MAPPING[name](**dict(MODELS[name]))


def saved(config):
    kept = json.loads(config.to_json_string(use_diff=False))
    return {k: v for k, v in kept.items() if k not in ("transformers_version", "_attn_implementation", "_attn_implementation_internal")}


def make(name):
    import torch
    from transformers import AutoModelForCausalLM
    config = config_of(name)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").double().eval()
    for router in (layer.mlp.gate for layer in model.model.layers if name == "dots1" and hasattr(layer.mlp, "gate")):
        router.register_forward_hook(lambda _, __, out: (out[0], out[1].double()))  # float32, which the library adds to float64
    rng = np.random.Generator(np.random.PCG64(11))
    with torch.no_grad():
        for key, value in sorted(model.state_dict().items()):
            if name in CENTRED_AT_ZERO and key == "lm_head.weight":
                continue  # tied
            norm = key.endswith("norm.weight")
            spread = 0.5 if norm or key.endswith(".bias") else 2.0 if key.endswith("mlp.gate.weight") else 0.3
            center = 1.0 if norm and name not in CENTRED_AT_ZERO else 0.0
            value.copy_(torch.from_numpy(center + np.rint(rng.uniform(-spread, spread, value.shape) * 1024) / 1024))
    return config, model, torch.from_numpy(rng.integers(0, config.vocab_size, (2, 24)))


def write(folder, name, notes):
    import torch
    from safetensors.torch import save_file
    config, model, ids = make(name)
    logits = model(ids, use_cache=False).logits
    likely = torch.log_softmax(logits[:, :-1].double(), -1)
    loss = -likely.gather(-1, ids[:, 1:, None]).mean()
    loss.backward()
    norms = {key: float(value.grad.double().norm()) for key, value in model.named_parameters() if value.grad is not None}
    tied = config.tie_word_embeddings
    tensors = {key: value.half().contiguous() for key, value in model.state_dict().items() if not (tied and key == "lm_head.weight")}
    assert all(torch.equal(value.double(), model.state_dict()[key].double()) for key, value in tensors.items())
    tensors |= {"ids": ids.int(), "logits": logits.detach().double().contiguous()}
    save_file(tensors, folder / f"{name}.safetensors")
    notes |= {"loss": float(loss), "gradient_norms": norms, "torch": torch.__version__.split("+")[0], "transformers": __version__}


def main(out, *only_configs):
    folder = pathlib.Path(out) / "families"
    folder.mkdir(exist_ok=True)
    for name in MODELS:
        path = folder / f"{name}.json"
        notes = json.loads(path.read_text()) if path.exists() else {"configs": {}}
        notes["configs"][__version__] = saved(config_of(name))
        if not only_configs:
            write(folder, name, notes)
        path.write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n")


main(*sys.argv[1:])
