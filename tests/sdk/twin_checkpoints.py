#!/usr/bin/env python3
"""twin_checkpoints.py FOLDER [FAMILY]: the same random weights as two models, FOLDER/theirs of a family of somebody else and
FOLDER/ours of a built-in family with the same mathematics, and FOLDER/ids.safetensors. Needs nothing but Python."""
import json, os, random, struct, sys

WIDTH, INNER, HEADS, KEYS, HEAD, BLOCKS, VOCABULARY = 32, 48, 4, 2, 8, 2, 64
SHARED = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_attention_heads": HEADS, "num_key_value_heads": KEYS, "head_dim": HEAD,
          "num_hidden_layers": BLOCKS, "vocab_size": VOCABULARY, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
          "rope_theta": 10000.0, "tie_word_embeddings": True}
SILU, GELU = {"hidden_act": "silu"}, {"hidden_activation": "gelu_pytorch_tanh"}
CAPS = {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 16, "sliding_window": 8}
AROUND = ("input_layernorm", "post_attention_layernorm")
# Their family: norms of a block on heads and on the width, what a norm's weights lie around, and the two configs.
FAMILIES = {
    "seventh": (("self_attn.q_norm", "self_attn.k_norm"), AROUND, 1.0,
                {**SILU, "model_type": "seventh", "use_sliding_window": False, "sliding_window": None},
                {**SILU, "model_type": "opensci", "qk_layernorm": True, "mlp_bias": False}),
    "their_qwen3": (("self_attn.q_norm", "self_attn.k_norm"), AROUND, 1.0,
                    {**SILU, "model_type": "their_qwen3"}, {**SILU, "model_type": "qwen3"}),
    "their_gemma2": ((), (*AROUND, "pre_feedforward_layernorm", "post_feedforward_layernorm"), 0.0,
                     {**GELU, **CAPS, "model_type": "their_gemma2"}, {**GELU, **CAPS, "model_type": "gemma2"}),
}


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


def write_twins(folder, family="seventh"):
    head_norms, norms, center, theirs, ours = FAMILIES[family]
    draw = random.Random(3)
    tensors = []

    def add(name, *shape, center=0.0, spread=0.3):
        count = 1
        for size in shape:
            count *= size
        tensors.append((name, "F32", list(shape), [center + draw.uniform(-spread, spread) for _ in range(count)]))

    add("model.embed_tokens.weight", VOCABULARY, WIDTH, spread=1.0)
    add("model.norm.weight", WIDTH, center=center)
    for i in range(BLOCKS):
        at = f"model.layers.{i}."
        for name, rows in (("q", HEADS), ("k", KEYS), ("v", KEYS)):
            add(f"{at}self_attn.{name}_proj.weight", rows * HEAD, WIDTH)
        add(f"{at}self_attn.o_proj.weight", WIDTH, HEADS * HEAD)
        for name in head_norms:
            add(f"{at}{name}.weight", HEAD, center=center)
        for name in norms:
            add(f"{at}{name}.weight", WIDTH, center=center)
        add(f"{at}mlp.gate_proj.weight", INNER, WIDTH)
        add(f"{at}mlp.up_proj.weight", INNER, WIDTH)
        add(f"{at}mlp.down_proj.weight", WIDTH, INNER)
    for name, more in (("theirs", theirs), ("ours", ours)):
        os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/{name}/config.json", "w") as out:
            json.dump({**SHARED, **more}, out)
        write(f"{folder}/{name}/model.safetensors", tensors)
    write(f"{folder}/ids.safetensors", [("ids", "I32", [8, 32], [draw.randrange(VOCABULARY) for _ in range(256)])])


if __name__ == "__main__":
    write_twins(*sys.argv[1:])
