#!/usr/bin/env python3
"""Adds to saved_configs.json the config.json that this version of Hugging Face transformers writes for a tiny model of
each family: {version: {model_type: config}}. The sizes are those of the tests' own tiny models.

  python3 tests/data/saved_configs.py tests/data      # run with transformers 4.57.6, 5.2.0 and 5.23.0; needs no weights
"""
import json, pathlib, sys
from transformers import CONFIG_MAPPING, __version__

SIZES = dict(vocab_size=37, hidden_size=24, num_hidden_layers=4, num_attention_heads=4, intermediate_size=40, max_position_embeddings=64,
             pad_token_id=None, bos_token_id=None, eos_token_id=None)
LLAMA = dict(SIZES, rms_norm_eps=1e-5, rope_theta=500.0)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
MODELS = {
    "apertus": dict(LLAMA, num_key_value_heads=2, rope_theta=100.0, rope_scaling=LLAMA3),
    "gpt_neox": dict(SIZES, num_attention_heads=3, num_hidden_layers=2, rotary_pct=0.5, rotary_emb_base=500),
    "llama": dict(LLAMA, rope_theta=100.0, rope_scaling=LLAMA3),
    "olmo": dict(SIZES, rope_theta=500.0, clip_qkv=0.75),
    "olmo2": LLAMA,
    "olmoe": dict(LLAMA, num_experts=4, num_experts_per_tok=2),
    "smollm3": dict(LLAMA, num_key_value_heads=2),
}

path = pathlib.Path(sys.argv[1]) / "saved_configs.json"
found = json.loads(path.read_text()) if path.exists() else {}
found[__version__] = {name: json.loads(CONFIG_MAPPING[name](**dict(given)).to_json_string()) for name, given in MODELS.items()}
lines = [f' {json.dumps(version)}: {{\n' + ",\n".join(f"  {json.dumps(n)}: {json.dumps(c)}" for n, c in sorted(configs.items())) + "\n }"
         for version, configs in sorted(found.items())]
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
