#!/usr/bin/env python3
"""Writes published_configs.json: config.json of published models by their names, with the keys and values that their
repositories have, and of some the added tokens and flags of tokenizer_config.json.

  python3 tests/data/published_configs.py tests/data
"""
import json, pathlib, sys

NEOX = dict(architectures=["GPTNeoXForCausalLM"], bos_token_id=0, eos_token_id=0, hidden_act="gelu", initializer_range=0.02,
            layer_norm_eps=1e-05, max_position_embeddings=2048, model_type="gpt_neox", rotary_emb_base=10000, rotary_pct=0.25,
            tie_word_embeddings=False, torch_dtype="float16", transformers_version="4.24.0", use_cache=True,
            use_parallel_residual=True)
def neox(layers, hidden, heads, vocabulary=50304, **more):
    return {**NEOX, "hidden_size": hidden, "intermediate_size": 4 * hidden, "num_attention_heads": heads, "num_hidden_layers": layers,
            "vocab_size": vocabulary, **more}

LLAMA = dict(architectures=["LlamaForCausalLM"], bos_token_id=1, eos_token_id=2, hidden_act="silu", initializer_range=0.02,
             model_type="llama", pretraining_tp=1, rms_norm_eps=1e-05, rope_scaling=None, tie_word_embeddings=False, use_cache=True)
LLAMA3 = dict(LLAMA, attention_bias=False, attention_dropout=0.0, bos_token_id=128000, eos_token_id=128001, rope_theta=500000.0,
              torch_dtype="bfloat16", vocab_size=128256, transformers_version="4.43.0.dev0", mlp_bias=False, max_position_embeddings=131072)
def llama(base, layers, hidden, heads, key_heads, inner, **more):
    return {**base, "hidden_size": hidden, "intermediate_size": inner, "num_attention_heads": heads, "num_hidden_layers": layers,
            "num_key_value_heads": key_heads, **more}
def scaled(factor):
    return dict(factor=factor, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192, rope_type="llama3")

QWEN2 = dict(architectures=["Qwen2ForCausalLM"], attention_dropout=0.0, bos_token_id=151643, eos_token_id=151643, hidden_act="silu",
             initializer_range=0.02, model_type="qwen2", rms_norm_eps=1e-06, rope_theta=1000000.0, torch_dtype="bfloat16", use_cache=True,
             use_sliding_window=False)
QWEN3 = dict(architectures=["Qwen3ForCausalLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=151643, eos_token_id=151645,
             head_dim=128, hidden_act="silu", initializer_range=0.02, max_position_embeddings=40960, model_type="qwen3", rms_norm_eps=1e-06,
             rope_scaling=None, rope_theta=1000000, sliding_window=None, torch_dtype="bfloat16", transformers_version="4.51.0",
             use_cache=True, use_sliding_window=False, vocab_size=151936)
OLMO = dict(architectures=["OlmoForCausalLM"], attention_bias=False, attention_dropout=0.0, clip_qkv=None, eos_token_id=50279,
            hidden_act="silu", initializer_range=0.02, max_position_embeddings=2048, model_type="olmo", pad_token_id=1, pretraining_tp=1,
            rope_scaling=None, rope_theta=10000.0, tie_word_embeddings=False, torch_dtype="float32", transformers_version="4.40.0.dev0",
            use_cache=True, vocab_size=50304)
OLMO2 = dict(architectures=["Olmo2ForCausalLM"], attention_bias=False, attention_dropout=0.0, eos_token_id=100257, hidden_act="silu",
             initializer_range=0.02, max_position_embeddings=4096, model_type="olmo2", pad_token_id=100277, rms_norm_eps=1e-06,
             rope_scaling=None, rope_theta=500000, tie_word_embeddings=False, torch_dtype="float32", transformers_version="4.47.0",
             use_cache=True, vocab_size=100352)
MAMBA = dict(architectures=["MambaForCausalLM"], bos_token_id=0, conv_kernel=4, eos_token_id=0, expand=2, fused_add_norm=True,
             hidden_act="silu", initializer_range=0.1, layer_norm_epsilon=1e-05, model_type="mamba", pad_token_id=0,
             pad_vocab_size_multiple=8, rescale_prenorm_residual=False, residual_in_fp32=True, rms_norm=True, ssm_cfg={}, state_size=16,
             time_step_floor=0.0001, time_step_init_scheme="random", time_step_max=0.1, time_step_min=0.001, time_step_scale=1.0,
             torch_dtype="float32", transformers_version="4.39.0.dev0", use_bias=False, use_cache=True, use_conv_bias=True, vocab_size=50280)
def mamba(layers, width):
    return {**MAMBA, "d_inner": 2 * width, "d_model": width, "hidden_size": width, "intermediate_size": 2 * width, "n_layer": layers,
            "num_hidden_layers": layers, "time_step_rank": width // 16}
GEMMA2 = dict(architectures=["Gemma2ForCausalLM"], attention_bias=False, attention_dropout=0.0, attn_logit_softcapping=50.0,
              bos_token_id=2, cache_implementation="hybrid", eos_token_id=1, final_logit_softcapping=30.0, hidden_act="gelu_pytorch_tanh",
              hidden_activation="gelu_pytorch_tanh", initializer_range=0.02, max_position_embeddings=8192, model_type="gemma2", pad_token_id=0,
              rms_norm_eps=1e-06, rope_theta=10000.0, sliding_window=4096, torch_dtype="float32", transformers_version="4.42.4",
              use_cache=True, vocab_size=256000)
GEMMA3 = dict(architectures=["Gemma3ForCausalLM"], attention_bias=False, attention_dropout=0.0, attn_logit_softcapping=None,
              bos_token_id=2, cache_implementation="hybrid", eos_token_id=[1, 106], final_logit_softcapping=None, head_dim=256,
              hidden_activation="gelu_pytorch_tanh", initializer_range=0.02, model_type="gemma3_text", pad_token_id=0,
              query_pre_attn_scalar=256, rms_norm_eps=1e-06, rope_local_base_freq=10000, rope_scaling=None, rope_theta=1000000,
              sliding_window=512, sliding_window_pattern=6, torch_dtype="bfloat16", transformers_version="4.50.0.dev0", use_cache=True,
              vocab_size=262144)
SMOLLM = dict(LLAMA, attention_bias=False, attention_dropout=0.0, bos_token_id=0, eos_token_id=0, torch_dtype="bfloat16", vocab_size=49152,
              tie_word_embeddings=True)
OLMOE = dict(architectures=["OlmoeForCausalLM"], attention_bias=False, attention_dropout=0.0, clip_qkv=None, eos_token_id=50279,
             hidden_act="silu", hidden_size=2048, initializer_range=0.02, intermediate_size=1024, max_position_embeddings=4096,
             model_type="olmoe", norm_topk_prob=False, num_attention_heads=16, num_experts=64, num_experts_per_tok=8, num_hidden_layers=16,
             num_key_value_heads=16, output_router_logits=False, pad_token_id=1, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000.0,
             router_aux_loss_coef=0.01, tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.43.0.dev0", use_cache=True,
             vocab_size=50304)
no_rope = [int((i + 1) % 4 != 0) for i in range(36)]

CONFIGS = {
    "EleutherAI/pythia-14m": neox(6, 128, 4),
    "EleutherAI/pythia-70m": neox(6, 512, 8),
    "EleutherAI/pythia-160m": neox(12, 768, 12),
    "EleutherAI/pythia-410m": neox(24, 1024, 16),
    "EleutherAI/pythia-1b": neox(16, 2048, 8),
    "EleutherAI/pythia-1.4b": neox(24, 2048, 16),
    "EleutherAI/pythia-2.8b": neox(32, 2560, 32),
    "EleutherAI/pythia-6.9b": neox(32, 4096, 32, 50432),
    "EleutherAI/pythia-12b": neox(36, 5120, 40, 50688),
    "togethercomputer/RedPajama-INCITE-Base-3B-v1": neox(32, 2560, 32, 50432, rotary_pct=1.0, use_parallel_residual=False,
                                                         transformers_version="4.28.1"),
    "huggyllama/llama-7b": {**llama(LLAMA, 32, 4096, 32, 32, 11008, max_position_embeddings=2048, max_sequence_length=2048, pad_token_id=0,
                                    rms_norm_eps=1e-06, torch_dtype="float16", transformers_version="4.28.1", vocab_size=32000)},
    "LLM360/Amber": llama(LLAMA, 32, 4096, 32, 32, 11008, max_position_embeddings=2048, pad_token_id=0, rms_norm_eps=1e-06,
                          torch_dtype="float32", transformers_version="4.28.1", vocab_size=32000),
    "TinyLlama/TinyLlama_v1.1": llama(LLAMA, 22, 2048, 32, 4, 5632, _name_or_path="meta-llama/Llama-2-7b-hf", attention_bias=False,
                                      max_position_embeddings=2048, rope_theta=10000.0, torch_dtype="float32",
                                      transformers_version="4.35.0", vocab_size=32000),
    "meta-llama/Llama-2-7b-hf": llama(LLAMA, 32, 4096, 32, 32, 11008, _name_or_path="meta-llama/Llama-2-7b-hf",
                                      max_position_embeddings=4096, torch_dtype="float16", transformers_version="4.31.0.dev0", vocab_size=32000),
    "meta-llama/Llama-2-70b-hf": llama(LLAMA, 80, 8192, 64, 8, 28672, max_position_embeddings=4096, torch_dtype="float16",
                                       transformers_version="4.32.0.dev0", vocab_size=32000),
    "meta-llama/Meta-Llama-3-8B": llama({k: v for k, v in LLAMA3.items() if k != "mlp_bias"}, 32, 4096, 32, 8, 14336,
                                        max_position_embeddings=8192, transformers_version="4.40.0.dev0"),
    "meta-llama/Llama-3.1-8B": llama(LLAMA3, 32, 4096, 32, 8, 14336, rope_scaling=scaled(8.0)),
    "meta-llama/Llama-3.2-1B": llama(LLAMA3, 16, 2048, 32, 8, 8192, head_dim=64, rope_scaling=scaled(32.0), tie_word_embeddings=True,
                                     transformers_version="4.45.0.dev0"),
    "meta-llama/Llama-3.2-3B": llama(LLAMA3, 28, 3072, 24, 8, 8192, head_dim=128, rope_scaling=scaled(32.0), tie_word_embeddings=True,
                                     transformers_version="4.45.0.dev0"),
    "unsloth/Llama-3.2-1B": llama(LLAMA3, 16, 2048, 32, 8, 8192, head_dim=64, rope_scaling=scaled(32.0), tie_word_embeddings=True,
                                  pad_token_id=128004, transformers_version="4.52.0.dev0", unsloth_fixed=True),
    "HuggingFaceTB/SmolLM-135M": llama(SMOLLM, 30, 576, 9, 3, 1536, max_position_embeddings=2048, rope_theta=10000.0,
                                       transformers_version="4.41.2"),
    "HuggingFaceTB/SmolLM2-135M": llama(SMOLLM, 30, 576, 9, 3, 1536, is_llama_config=True, max_position_embeddings=8192, mlp_bias=False,
                                        rope_interleaved=False, rope_theta=100000, transformers_version="4.40.1"),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": llama(SMOLLM, 24, 2048, 32, 32, 8192, bos_token_id=1, eos_token_id=2, pad_token_id=2,
                                                 initializer_range=0.02, max_position_embeddings=8192, mlp_bias=False, rope_theta=130000,
                                                 transformers_version="4.42.3", **{"transformers.js_config": {
                                                     "dtype": "q4", "kv_cache_dtype": {"q4f16": "float16", "fp16": "float16"}}}),
    "HuggingFaceTB/SmolLM3-3B-Base": dict(
        architectures=["SmolLM3ForCausalLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=128000, eos_token_id=128001,
        hidden_act="silu", hidden_size=2048, initializer_range=0.02, intermediate_size=11008, layer_types=["full_attention"] * 36,
        max_position_embeddings=65536, max_window_layers=28, mlp_bias=False, model_type="smollm3", no_rope_layer_interval=4,
        no_rope_layers=no_rope, num_attention_heads=16, num_hidden_layers=36, num_key_value_heads=4, pad_token_id=128004, pretraining_tp=2,
        rms_norm_eps=1e-06, rope_scaling=None, rope_theta=5000000.0, sliding_window=None, torch_dtype="bfloat16",
        transformers_version="4.54.0.dev0", use_cache=False, use_sliding_window=False, vocab_size=128256),
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": llama(QWEN2, 28, 1536, 12, 2, 8960, eos_token_id=151643, max_position_embeddings=131072,
                                                       max_window_layers=21, rope_theta=10000, sliding_window=4096, tie_word_embeddings=False,
                                                       transformers_version="4.44.0", use_mrope=False, vocab_size=151936),
    "Qwen/Qwen2-0.5B": llama(QWEN2, 24, 896, 14, 2, 4864, max_position_embeddings=131072, max_window_layers=24, sliding_window=131072,
                             tie_word_embeddings=True, transformers_version="4.40.1", vocab_size=151936),
    "Qwen/Qwen2.5-0.5B": llama(QWEN2, 24, 896, 14, 2, 4864, max_position_embeddings=32768, max_window_layers=24, sliding_window=32768,
                               tie_word_embeddings=True, transformers_version="4.40.1", use_mrope=False, vocab_size=151936),
    "Qwen/Qwen2.5-7B": llama(QWEN2, 28, 3584, 28, 4, 18944, max_position_embeddings=131072, max_window_layers=28, sliding_window=131072,
                             tie_word_embeddings=False, transformers_version="4.40.1", use_mrope=False, vocab_size=152064),
    "Qwen/Qwen3-0.6B": llama(QWEN3, 28, 1024, 16, 8, 3072, max_window_layers=28, tie_word_embeddings=True),
    "Qwen/Qwen3-8B": llama(QWEN3, 36, 4096, 32, 8, 12288, max_window_layers=36, tie_word_embeddings=False),
    "allenai/OLMo-1B-hf": llama(OLMO, 16, 2048, 16, 16, 8192, tie_word_embeddings=True),
    "allenai/OLMo-7B-hf": llama(OLMO, 32, 4096, 32, 32, 11008),
    "allenai/OLMo-2-0425-1B": llama(OLMO2, 16, 2048, 16, 16, 8192),
    "allenai/OLMo-2-1124-7B": llama(OLMO2, 32, 4096, 32, 32, 11008),
    "allenai/Olmo-3-1025-7B": llama(dict(OLMO2, architectures=["Olmo3ForCausalLM"], model_type="olmo3", pad_token_id=100277, dtype="bfloat16"),
                                    32, 4096, 32, 32, 11008, max_position_embeddings=65536, sliding_window=4096, vocab_size=100278,
                                    layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 8, transformers_version="4.57.0",
                                    rope_scaling=dict(attention_factor=1.2079441541679836, beta_fast=32, beta_slow=1, factor=8.0,
                                                      original_max_position_embeddings=8192, rope_type="yarn")),
    "allenai/OLMoE-1B-7B-0924": OLMOE,
    "allenai/OLMo-1B": dict(
        activation_type="swiglu", alibi=False, alibi_bias_max=8.0, architectures=["OLMoModelForCausalLM"], attention_dropout=0.0,
        attention_layer_norm=False, attention_layer_norm_with_affine=False, bias_for_layer_norm=False, block_group_size=1,
        block_type="sequential", d_model=2048, embedding_dropout=0.0, embedding_size=50304, eos_token_id=50279, flash_attention=True,
        include_bias=False, init_cutoff_factor=None, init_device="meta", init_fn="mitchell", init_std=0.02, layer_norm_type="default",
        layer_norm_with_affine=False, max_sequence_length=2048, mlp_hidden_size=None, mlp_ratio=8, model_type="hf_olmo",
        multi_query_attention=False, n_heads=16, n_layers=16, pad_token_id=1, precision="amp_bf16", residual_dropout=0.0, rope=True,
        rope_full_precision=True, scale_logits=False, transformers_version="4.36.2", use_cache=True, vocab_size=50280, weight_tying=True),
    "open-sci/open-sci-ref-v0.01-1.7b-nemotron-hq-1T-4096": dict(
        architectures=["OpensciForCausalLM"], attention_bias=True, attention_dropout=0.0,
        auto_map={"AutoConfig": "configuration_opensci.OpensciConfig", "AutoModelForCausalLM": "modeling_opensci.OpensciForCausalLM"},
        bos_token_id=0, eos_token_id=0, head_dim=64, hidden_act="silu", hidden_size=2048, initializer_range=0.02, intermediate_size=8192,
        layer_norm_eps=1e-05, max_position_embeddings=4096, mlp_bias=True, model_type="opensci", num_attention_heads=32, num_hidden_layers=24,
        num_key_value_heads=32, qk_layernorm=True, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000, tie_word_embeddings=True,
        torch_dtype="bfloat16", use_cache=True, vocab_size=50304),
    "google/gemma-2-2b": llama(GEMMA2, 26, 2304, 8, 4, 9216, head_dim=256, query_pre_attn_scalar=256),
    "google/gemma-2-9b": llama(GEMMA2, 42, 3584, 16, 8, 14336, head_dim=256, query_pre_attn_scalar=256, sliding_window_size=4096),
    "google/gemma-3-270m": llama(GEMMA3, 18, 640, 4, 1, 2048, max_position_embeddings=32768,
                                 layer_types=(["sliding_attention"] * 5 + ["full_attention"]) * 3, use_bidirectional_attention=False,
                                 _sliding_window_pattern=6, eos_token_id=1),
    "google/gemma-3-1b-pt": llama(GEMMA3, 26, 1152, 4, 1, 6912, max_position_embeddings=32768),
    "google/gemma-3-4b-pt": dict(
        architectures=["Gemma3ForConditionalGeneration"], boi_token_index=255999, eoi_token_index=256000, eos_token_id=[1, 106],
        image_token_index=262144, initializer_range=0.02, mm_tokens_per_image=256, model_type="gemma3",
        text_config=dict(hidden_size=2560, intermediate_size=10240, model_type="gemma3_text", num_hidden_layers=34,
                         rope_scaling=dict(factor=8.0, rope_type="linear"), sliding_window=1024),
        torch_dtype="bfloat16", transformers_version="4.50.0.dev0",
        vision_config=dict(hidden_size=1152, image_size=896, intermediate_size=4304, model_type="siglip_vision_model", num_attention_heads=16,
                           num_hidden_layers=27, patch_size=14, vision_use_head=False)),
    "state-spaces/mamba-130m-hf": mamba(24, 768),
    "state-spaces/mamba-1.4b-hf": mamba(48, 2048),
    "rednote-hilab/dots.llm1.base": dict(
        architectures=["Dots1ForCausalLM"], attention_bias=False, attention_dropout=0.0, eos_token_id=151643, first_k_dense_replace=1,
        hidden_act="silu", hidden_size=4096, initializer_range=0.02, intermediate_size=10944, max_position_embeddings=32768,
        max_window_layers=62, model_type="dots1", moe_intermediate_size=1408, moe_layer_freq=1, n_group=1, n_routed_experts=128,
        n_shared_experts=2, norm_topk_prob=True, num_attention_heads=32, num_experts_per_tok=6, num_hidden_layers=62, num_key_value_heads=32,
        pretraining_tp=1, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000000, routed_scaling_factor=2.5, scoring_func="sigmoid",
        sliding_window=None, tie_word_embeddings=False, topk_group=1, topk_method="noaux_tc", torch_dtype="bfloat16",
        transformers_version="4.46.3", use_cache=True, use_sliding_window=False, vocab_size=152064),
    "swiss-ai/Apertus-8B-2509": dict(
        architectures=["ApertusForCausalLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=1, eos_token_id=2,
        hidden_act="xielu", hidden_dropout=0.0, hidden_size=4096, initializer_range=0.02, intermediate_size=21504,
        max_position_embeddings=65536, mlp_bias=False, model_type="apertus", num_attention_heads=32, num_hidden_layers=32,
        num_key_value_heads=8, pad_token_id=3, post_norm=False, qk_norm=True, rms_norm_eps=1e-05,
        rope_scaling=dict(scaled(8.0), type="llama3"), rope_theta=12000000, tie_word_embeddings=False, torch_dtype="bfloat16",
        transformers_version="4.56.0.dev0", use_cache=True, vocab_size=131072),
}


def tokens(first, *texts):
    return {str(first + i): dict(content=text, lstrip=False, normalized=False, rstrip=False, single_word=False, special=True)
            for i, text in enumerate(texts)}


TOKENIZERS = {
    "EleutherAI/pythia-160m": dict(add_prefix_space=False, bos_token="<|endoftext|>", eos_token="<|endoftext|>",
                                   tokenizer_class="GPTNeoXTokenizer", unk_token="<|endoftext|>"),
    "meta-llama/Llama-2-7b-hf": dict(
        add_bos_token=True, add_eos_token=False, added_tokens_decoder=tokens(0, "<unk>", "<s>", "</s>"), bos_token="<s>",
        clean_up_tokenization_spaces=False, eos_token="</s>", legacy=False, model_max_length=1000000000000000019884624838656, pad_token=None,
        padding_side="right", sp_model_kwargs={}, tokenizer_class="LlamaTokenizer", unk_token="<unk>", use_default_system_prompt=False),
    "meta-llama/Llama-3.2-1B": dict(
        added_tokens_decoder=tokens(128000, "<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>"),
        bos_token="<|begin_of_text|>", clean_up_tokenization_spaces=True, eos_token="<|end_of_text|>",
        model_input_names=["input_ids", "attention_mask"], model_max_length=131072, tokenizer_class="PreTrainedTokenizerFast"),
    "HuggingFaceTB/SmolLM2-135M": dict(
        add_prefix_space=False, added_tokens_decoder=tokens(0, "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>"),
        bos_token="<|endoftext|>", eos_token="<|endoftext|>", model_max_length=8192, tokenizer_class="GPT2Tokenizer", unk_token="<|endoftext|>",
        vocab_size=49152),
    "Qwen/Qwen2.5-0.5B": dict(
        add_bos_token=False, add_prefix_space=False, added_tokens_decoder=tokens(151643, "<|endoftext|>", "<|im_start|>", "<|im_end|>"),
        additional_special_tokens=["<|im_start|>", "<|im_end|>"], bos_token=None, chat_template="{{ messages }}", eos_token="<|endoftext|>",
        errors="replace", model_max_length=131072, pad_token="<|endoftext|>", split_special_tokens=False, tokenizer_class="Qwen2Tokenizer",
        unk_token=None),
    "google/gemma-2-2b": dict(
        add_bos_token=True, add_eos_token=False, added_tokens_decoder=tokens(0, "<pad>", "<eos>", "<bos>", "<unk>", "<mask>"), bos_token="<bos>",
        eos_token="<eos>", pad_token="<pad>", sp_model_kwargs={}, spaces_between_special_tokens=False, tokenizer_class="GemmaTokenizer",
        unk_token="<unk>", use_default_system_prompt=False),
}

path = pathlib.Path(sys.argv[1]) / "published_configs.json"
sections = {"config": CONFIGS, "tokenizer_config": TOKENIZERS}
text = ",\n".join(' "%s": {\n%s\n }' % (name, ",\n".join("  %s: %s" % (json.dumps(key), json.dumps(value, sort_keys=True))
                                                         for key, value in sorted(models.items())))
                  for name, models in sections.items())
path.write_text("{\n%s\n}\n" % text)
