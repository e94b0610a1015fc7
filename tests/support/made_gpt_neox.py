"""A GPT-NeoX of one block whose weights are made by counting, a different one for each step: for fixtures and the tests that read them."""
import json
import struct

import numpy as np

WIDTH, INNER, IDS = 16, 32, 256
CONFIG = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": WIDTH, "intermediate_size": INNER,
          "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": IDS, "max_position_embeddings": 64, "rotary_pct": 0.25,
          "rotary_emb_base": 10000, "layer_norm_eps": 1e-5, "hidden_act": "gelu", "use_parallel_residual": True,
          "tie_word_embeddings": False, "attention_bias": True}
LAYER = "gpt_neox.layers.0."
SHAPES = {"gpt_neox.embed_in.weight": (IDS, WIDTH), "embed_out.weight": (IDS, WIDTH)}
for _name, _rows, _columns in (("attention.query_key_value", 3 * WIDTH, WIDTH), ("attention.dense", WIDTH, WIDTH),
                               ("mlp.dense_h_to_4h", INNER, WIDTH), ("mlp.dense_4h_to_h", WIDTH, INNER)):
    SHAPES.update({LAYER + _name + ".weight": (_rows, _columns), LAYER + _name + ".bias": (_rows,)})
for _name in LAYER + "input_layernorm", LAYER + "post_attention_layernorm", "gpt_neox.final_layer_norm":
    SHAPES.update({_name + ".weight": (WIDTH,), _name + ".bias": (WIDTH,)})


def tensors(step):
    """{name: float32}; the numbers are multiples of 1/8192, so nothing is rounded."""
    out = {}
    for place, (name, shape) in enumerate(sorted(SHAPES.items())):
        count = np.arange(np.prod(shape), dtype=np.int64)
        numbers = ((count * 7919 + place * 104729 + step * 31) % 2003 - 1001) / 2048
        out[name] = (numbers / 4 + ("norm.weight" in name)).astype(np.float32).reshape(shape)
    return out


def write_folder(folder, step):
    """A folder as transformers saves it, with bytes for a tokenizer."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    header, data = {}, b""
    for name, value in tensors(step).items():
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
