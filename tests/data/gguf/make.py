#!/usr/bin/env python3
"""Makes the files beside it with the reference implementation of GGUF.

  python3 tests/data/gguf/make.py      # gguf 0.19.0, numpy 2.4.6

types.gguf        a llama with one block for each type that is read; blk.N.ffn_up.weight is of that type
types.safetensors what gguf.quants.dequantize makes of them: float32, under the model's names
llama.gguf        two blocks, fewer key than query heads; F16, norms F32; rows of q and k as llama.cpp has them
llama.safetensors the same weights as the model has them, with llama.json as config.json
llama31.gguf      Llama 3.1's rotary positions: an embedding, and the divisors that llama.cpp's converter makes
../../fuzz/seeds/gguf/*.gguf   small files that reach most of the reader
"""
import json, math, pathlib, struct
import numpy as np
import gguf
from gguf import GGMLQuantizationType as Type

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(16)

TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0,
         Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K]
# Where the float16 numbers of a block lie.
HALVES = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
          Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208]}


def save(name, tensors):
    """A safetensors file of numpy arrays."""
    header, data = {}, b""
    for key, array in tensors.items():
        dtype = {"float32": "F32", "float16": "F16"}[str(array.dtype)]
        header[key] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += np.ascontiguousarray(array).tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (HERE / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


def finite_halves(shape):
    """Any bits but those of infinities and NaNs."""
    bits = rng.integers(0, 1 << 16, shape, dtype=np.uint16)
    return np.where(bits & 0x7C00 == 0x7C00, bits ^ 0x4000, bits).astype(np.uint16)


def random_rows(kind, rows, columns):
    """Rows as they lie in a file: any bits, so that every field of a block is seen."""
    if kind == Type.F32:
        return rng.standard_normal((rows, columns), dtype=np.float32)
    if kind in (Type.F16, Type.BF16):
        return finite_halves((rows, columns)).view(np.float16 if kind == Type.F16 else np.uint8)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (rows * columns // elements, size), dtype=np.uint8)
    for at in HALVES[kind]:
        blocks[:, at:at + 2] = finite_halves((len(blocks), 1)).view(np.uint8)
    return blocks.reshape(rows, columns // elements * size)


def llama_writer(name, architecture="llama", **sizes):
    writer = gguf.GGUFWriter(HERE / name, architecture)
    writer.add_block_count(sizes["blocks"])
    writer.add_context_length(sizes.get("context", 64))
    writer.add_embedding_length(sizes["width"])
    writer.add_feed_forward_length(sizes["inner"])
    writer.add_head_count(sizes["heads"])
    writer.add_head_count_kv(sizes["kv_heads"])
    writer.add_layer_norm_rms_eps(sizes.get("eps", 1e-6))
    writer.add_rope_freq_base(sizes.get("theta", 10000.0))
    writer.add_rope_dimension_count(sizes["width"] // sizes["heads"])
    writer.add_vocab_size(sizes["vocabulary"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    return writer


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_types():
    writer = llama_writer("types.gguf", blocks=len(TYPES), width=256, inner=2, heads=2, kv_heads=2, vocabulary=1)
    expected = {}
    writer.add_tensor("token_embd.weight", np.zeros((1, 256), dtype=np.float32))
    for block, kind in enumerate(TYPES):
        rows = random_rows(kind, 2, 256)
        writer.add_tensor(f"blk.{block}.ffn_up.weight", rows, raw_dtype=kind)
        expected[f"model.layers.{block}.mlp.up_proj.weight"] = gguf.quants.dequantize(rows.view(np.uint8), kind).astype(np.float32)
    write(writer)
    save("types.safetensors", expected)


def permute(weights, heads):
    """LlamaModel.permute of llama.cpp's convert_hf_to_gguf.py."""
    return (weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:])
            .swapaxes(1, 2)
            .reshape(weights.shape))


def make_llama():
    blocks, width, inner, heads, kv_heads, vocabulary = 2, 32, 48, 4, 2, 256
    writer = llama_writer("llama.gguf", blocks=blocks, width=width, inner=inner, heads=heads, kv_heads=kv_heads,
                          vocabulary=vocabulary, theta=50000.0)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<0x{i:02X}>" for i in range(vocabulary)])
    writer.add_token_scores([0.0] * vocabulary)
    writer.add_chat_template("x" * 5000)
    model = {}

    def add(stored, name, array, order=lambda array: array):
        model[name] = array
        writer.add_tensor(stored, np.ascontiguousarray(order(array)).astype(np.float32 if array.ndim == 1 else np.float16))

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) * 0.3).astype(np.float16)

    def norm():
        return (1 + 0.1 * rng.standard_normal(width)).astype(np.float32)

    kv_width = width // heads * kv_heads
    add("token_embd.weight", "model.embed_tokens.weight", matrix(vocabulary, width))
    for i in range(blocks):
        stored, name = f"blk.{i}.", f"model.layers.{i}."
        add(stored + "attn_norm.weight", name + "input_layernorm.weight", norm())
        add(stored + "attn_q.weight", name + "self_attn.q_proj.weight", matrix(width, width), lambda w: permute(w, heads))
        add(stored + "attn_k.weight", name + "self_attn.k_proj.weight", matrix(kv_width, width), lambda w: permute(w, kv_heads))
        add(stored + "attn_v.weight", name + "self_attn.v_proj.weight", matrix(kv_width, width))
        add(stored + "attn_output.weight", name + "self_attn.o_proj.weight", matrix(width, width))
        add(stored + "ffn_norm.weight", name + "post_attention_layernorm.weight", norm())
        add(stored + "ffn_gate.weight", name + "mlp.gate_proj.weight", matrix(inner, width))
        add(stored + "ffn_up.weight", name + "mlp.up_proj.weight", matrix(inner, width))
        add(stored + "ffn_down.weight", name + "mlp.down_proj.weight", matrix(width, inner))
    add("output_norm.weight", "model.norm.weight", norm())
    add("output.weight", "lm_head.weight", matrix(vocabulary, width))
    write(writer)
    save("llama.safetensors", model)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": vocabulary,
              "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": blocks, "num_attention_heads": heads,
              "num_key_value_heads": kv_heads, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 50000.0,
              "rope_scaling": None, "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False}
    (HERE / "llama.json").write_text(json.dumps(config, indent=1) + "\n")


def llama31_divisors(theta, width, factor, low, high, original):
    """generate_extra_tensors of llama.cpp's converter, in float32 as there."""
    freqs = 1.0 / (np.float32(theta) ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width)))
    out = []
    for freq in freqs.astype(np.float32):
        wave = np.float32(2 * math.pi) / freq
        if wave < original / high:
            out.append(1)
        elif wave > original / low:
            out.append(factor)
        else:
            smooth = (np.float32(original) / wave - np.float32(low)) / np.float32(high - low)
            out.append(1 / ((1 - smooth) / np.float32(factor) + smooth))
    return np.array(out, dtype=np.float32)


def make_llama31():
    writer = llama_writer("llama31.gguf", blocks=1, width=128, inner=2, heads=1, kv_heads=1, vocabulary=1, eps=1e-5,
                          theta=500000.0, context=131072)
    writer.add_tensor("token_embd.weight", np.zeros((1, 128), dtype=np.float32))
    writer.add_tensor("rope_freqs.weight", llama31_divisors(500000.0, 128, 8.0, 1.0, 4.0, 8192))
    write(writer)


def make_seeds():
    folder = "../../fuzz/seeds/gguf/"
    sizes = {"width": 32, "inner": 32, "heads": 2, "kv_heads": 1, "vocabulary": 2}
    writer = llama_writer(folder + "llama.gguf", blocks=2, **sizes)
    writer.add_token_list(["a", "bc"])
    writer.add_array("general.numbers", [1, 2, 3])
    writer.add_bool("general.bool", True)
    writer.add_float64("general.float64", 0.5)
    writer.add_tensor("token_embd.weight", random_rows(Type.Q8_0, 2, 32), raw_dtype=Type.Q8_0)
    writer.add_tensor("blk.0.attn_q.weight", random_rows(Type.Q4_0, 32, 32), raw_dtype=Type.Q4_0)
    writer.add_tensor("blk.0.attn_k.weight", random_rows(Type.F16, 16, 8), raw_dtype=Type.F16)
    writer.add_tensor("blk.1.attn_k.bias", np.zeros(16, dtype=np.float32))
    writer.add_tensor("blk.1.ffn_up.weight", random_rows(Type.Q4_K, 1, 256), raw_dtype=Type.Q4_K)
    writer.add_tensor("blk.1.ffn_down.weight", random_rows(Type.Q6_K, 1, 256), raw_dtype=Type.Q6_K)
    writer.add_tensor("rope_freqs.weight", np.ones(8, dtype=np.float32))
    write(writer)
    writer = llama_writer(folder + "apertus.gguf", "apertus", blocks=2, **sizes)
    for name in ("alpha_p", "alpha_n", "beta", "eps"):
        writer.add_array(f"xielu.{name}", [0.5, 0.25])
    writer.add_tensor("token_embd.weight", random_rows(Type.BF16, 2, 32), raw_dtype=Type.BF16)
    write(writer)


make_types()
make_llama()
make_llama31()
make_seeds()
