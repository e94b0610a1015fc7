#!/usr/bin/env python3
"""twin_checkpoints.py FOLDER: the same random weights as two models, FOLDER/theirs of family `seventh` and FOLDER/ours of a
built-in family with the same mathematics, and FOLDER/ids.safetensors. Needs nothing but Python."""
import json, os, random, struct, sys

WIDTH, INNER, HEADS, KEYS, HEAD, BLOCKS, VOCABULARY = 32, 48, 4, 2, 8, 2, 64
SHARED = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_attention_heads": HEADS, "num_key_value_heads": KEYS, "head_dim": HEAD,
          "num_hidden_layers": BLOCKS, "vocab_size": VOCABULARY, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
          "rope_theta": 10000.0, "tie_word_embeddings": True, "hidden_act": "silu"}


def write(path, tensors):
    header, data = {}, b""
    for name, kind, shape, values in tensors:
        code = {"F32": "f", "I32": "i"}[kind]
        raw = struct.pack(f"<{len(values)}{code}", *values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def main(folder):
    draw = random.Random(3)
    tensors = []

    def add(name, *shape, center=0.0, spread=0.3):
        count = 1
        for size in shape:
            count *= size
        tensors.append((name, "F32", list(shape), [center + draw.uniform(-spread, spread) for _ in range(count)]))

    add("model.embed_tokens.weight", VOCABULARY, WIDTH, spread=1.0)
    add("model.norm.weight", WIDTH, center=1.0)
    for i in range(BLOCKS):
        at = f"model.layers.{i}."
        for name, rows in (("q", HEADS), ("k", KEYS), ("v", KEYS)):
            add(f"{at}self_attn.{name}_proj.weight", rows * HEAD, WIDTH)
        add(f"{at}self_attn.o_proj.weight", WIDTH, HEADS * HEAD)
        for name in ("self_attn.q_norm", "self_attn.k_norm"):
            add(f"{at}{name}.weight", HEAD, center=1.0)
        for name in ("input_layernorm", "post_attention_layernorm"):
            add(f"{at}{name}.weight", WIDTH, center=1.0)
        add(f"{at}mlp.gate_proj.weight", INNER, WIDTH)
        add(f"{at}mlp.up_proj.weight", INNER, WIDTH)
        add(f"{at}mlp.down_proj.weight", WIDTH, INNER)
    for name, more in (("theirs", {"model_type": "seventh", "use_sliding_window": False, "sliding_window": None}),
                       ("ours", {"model_type": "opensci", "qk_layernorm": True, "mlp_bias": False})):
        os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/{name}/config.json", "w") as out:
            json.dump({**SHARED, **more}, out)
        write(f"{folder}/{name}/model.safetensors", tensors)
    write(f"{folder}/ids.safetensors", [("ids", "I32", [8, 32], [draw.randrange(VOCABULARY) for _ in range(256)])])


main(sys.argv[1])
