"""What ./dev soak same_values runs: every kind of plugin, in manifests and in commands.

A case is a list of commands in one folder; a later one may read what an earlier one wrote. {data} stands for tests/data.
Configs are JSON, which is YAML too."""
import json
import struct
from dataclasses import dataclass, field

PROSE = "What is lost when weights are rounded? Some of what was learned, and the rest stays as it was.\n\n"


@dataclass
class Command:
    words: list
    stdin: str = ""


@dataclass
class Case:
    name: str
    commands: list
    files: dict = field(default_factory=dict)  # name: text or bytes
    errors: int = 0  # records that hold an error, in one process as in many
    plugin: str = ""  # kind and id of what the case is about, which an earlier version may lack


def base_config(family, **keys):
    return {"model_type": family, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 2, "vocab_size": 256, "max_position_embeddings": 64, "initializer_range": 0.02,
            "tie_word_embeddings": False, **keys}


def llama_like(family, **keys):
    return base_config(family, **{"num_key_value_heads": 2, "rope_theta": 10000.0, "rope_scaling": None, **keys})


LLAMA = llama_like("llama", rms_norm_eps=1e-5, hidden_act="silu")
WINDOWED = {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}
GEMMA = {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "head_dim": 16, "query_pre_attn_scalar": 16,
         "tie_word_embeddings": True, **WINDOWED}

# Family, config, optimizer, further keys of the training.
TRAININGS = [
    ("llama", LLAMA, "adamw", {}),
    ("gpt_neox", base_config("gpt_neox", rotary_pct=0.25, rotary_emb_base=10000, layer_norm_eps=1e-5, hidden_act="gelu",
                             use_parallel_residual=True), "muon", {"micro_batch": 1}),
    ("olmo", llama_like("olmo", clip_qkv=0.75, num_key_value_heads=1), "sgd", {}),
    ("olmo2", llama_like("olmo2", rms_norm_eps=1e-5), "schedule_free_adamw", {}),
    ("olmoe", llama_like("olmoe", rms_norm_eps=1e-5, num_experts=4, num_experts_per_tok=2, norm_topk_prob=False),
     "sam", {"clip": 0}),
    ("smollm3", llama_like("smollm3", rms_norm_eps=1e-5, num_key_value_heads=1, no_rope_layers=[1, 0],
                           tie_word_embeddings=True), "muon", {"precision": "bfloat16"}),
    ("opensci", llama_like("opensci", rms_norm_eps=1e-5, attention_bias=True, mlp_bias=True, qk_layernorm=True,
                           tie_word_embeddings=True), "trace_penalty", {"micro_batch": 1}),
    ("apertus", llama_like("apertus", rms_norm_eps=1e-5, hidden_act="xielu", num_key_value_heads=1), "noise_injection", {}),
    ("mamba", {"model_type": "mamba", "hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 256, "state_size": 4,
               "conv_kernel": 4, "expand": 2, "tie_word_embeddings": True}, "qat", {"micro_batch": 1}),
    ("gemma2", llama_like("gemma2", attn_logit_softcapping=30.0, final_logit_softcapping=20.0, **GEMMA), "adamw", {}),
    ("gemma3_text", llama_like("gemma3_text", rope_local_base_freq=10000.0, **GEMMA), "adamw", {}),
    ("olmo3", llama_like("olmo3", rms_norm_eps=1e-5, hidden_act="silu", **WINDOWED), "adamw", {}),
    ("qwen2", llama_like("qwen2", rms_norm_eps=1e-6, hidden_act="silu", use_sliding_window=False), "adamw", {}),
    ("qwen3", llama_like("qwen3", rms_norm_eps=1e-6, hidden_act="silu", head_dim=16, num_key_value_heads=1), "adamw", {}),
    ("dots1", llama_like("dots1", rms_norm_eps=1e-5, hidden_act="silu", num_key_value_heads=1, n_routed_experts=4,
                         num_experts_per_tok=2, moe_intermediate_size=16, n_shared_experts=1, first_k_dense_replace=1,
                         routed_scaling_factor=1.5, norm_topk_prob=True), "adamw", {}),
]


def training(config, optimizer, **keys):
    constant = optimizer == "schedule_free_adamw"
    rate = {"schedule": "constant" if constant else "cosine", "peak": 8e-3, "warmup": 1}
    return {"model": config, "corpus": "words", "tokenizer": "bytes", "optimizer": optimizer, "lr": rate, "batch": 2,
            "length": 32, "steps": 4, "every": 2, **keys}


def manifest(**keys):
    return json.dumps({
        "seed": 0, "checkpoints": {"model": "train"},
        "calibration": {"words": {"corpus": "words", "sequences": 2, "length": 32, "packing": "concat"}},
        "corpora": {"words": {"text": {"path": "words.txt"}}}, **keys})


def of_one_run(name, errors=0, files=None, plugin="", **keys):
    return Case(name, [Command(["run", "m.yaml", "--json"])],
                {"m.yaml": manifest(**keys), "words.txt": PROSE * 20, **(files or {})}, errors, plugin)


def families():
    for family, config, optimizer, keys in TRAININGS:
        yield of_one_run(
            f"model {family}, trained by {optimizer}", plugin=f"model {family}", train=training(config, optimizer, **keys),
            quantizers=[{"rtn": {"bits": 4, "group_size": 32}},
                        {"gptq": {"bits": [3, 4], "group_size": 32}, "calibration": "words"}],
            metrics=[{"validation_loss": {"corpus": "words", "block": 32}},
                     {"divergence": {"corpus": "words", "block": 32}},
                     {"weights": {"corpus": "words", "length": 32, "rows": 2}},
                     {"taylor": {"corpus": "words", "length": 32, "rows": 1}}])


def precisions():
    yield of_one_run(
        "other precisions", sweep={"dtype": ["float64", "bfloat16", "float16"]}, train=training(LLAMA, "adamw", every=4),
        quantizers=["int8", {"gptq": {"bits": 4, "group_size": 32}, "calibration": "words"}],
        metrics=[{"validation_loss": {"corpus": "words", "block": 32}}])


def averages():
    snapshots = training(LLAMA, "adamw", snapshots=1, forks={"early": {"steps": 3, "decay_steps": 1}},
                         lr={"schedule": "constant", "peak": 8e-3, "warmup": 1})
    of = ["trunk@step2", "trunk@step4", "early@last"]
    yield of_one_run(
        "averages in a run", train=snapshots,
        averaging=[{"lawa": {"window": 2, "every": 1}, "keep": True}, {"ema": {"decay": [0.5, 0.9], "stride": 1}},
                   {"soup": {}, "of": of, "keep": True}, {"linear": {"weights": [0.5, 0.7, -0.2]}, "of": of},
                   {"greedy_soup": {}, "of": of, "keep": True}],
        quantizers=[{"rtn": {"bits": 3, "group_size": 32}}],
        metrics=[{"validation_loss": {"corpus": "words", "block": 32}}])
    schemes = ["soup", "lawa:window=3", "ema:decay=0.5", "linear:weights=0.5+0.7+-0.2", "greedy_soup"]
    members = [f"runs/m/checkpoints/trunk/step{step}" for step in (2, 3, 4)]
    score = ["--metric", "validation_loss:text=words.txt,block=32"]
    commands = [Command(["run", "m.yaml", "--json"])]
    for number, scheme in enumerate(schemes):
        commands.append(Command(["average", *members, "--scheme", scheme, "-o", f"average-{number}", "--json",
                                 *(score if scheme == "greedy_soup" else [])]))
    yield Case("averages by command", commands,
               {"m.yaml": manifest(name="m", train={**snapshots, "every": 1}, metrics=["weights"]),
                "words.txt": PROSE * 20})


def quantizers():
    grouped = {"bits": 3, "group_size": 32}
    without = [{"rtn": {**grouped, "sym": [True, False], "mse": 2.4}},
               {"rtn": {"bits": 4, "group_size": -1, "lm_head": True, "embedding": True}},
               {"rtn": {**grouped, "modules": ["*.mlp.* bits=5", "*.o_proj skip"]}},
               {"hqq": {**grouped, "embedding": True}},
               {"int8": {"threshold": [0, 0.5], "scope": ["batch", "row"]}}, {"int8": {"activations": False, "half": False}},
               {"nf4": {"block": 32, "double_quantization": [True, False]}}, {"fp4": {"block": 32, "lm_head": True}},
               {"noise": {**grouped, "distribution": ["gaussian", "uniform"], "draw": [0, 1]}}]
    metrics = [{"validation_loss": {"corpus": "words", "block": 32}}, "weights"]
    yield of_one_run("quantizers without calibration", train=training(LLAMA, "adamw"), quantizers=without, metrics=metrics)
    watched = ["rtn", "hqq", "int8", "nf4", "fp4", "noise"]
    yield of_one_run(
        "quantizers with calibration", train=training(LLAMA, "adamw", every=4), metrics=metrics,
        quantizers=[{each: {}, "calibration": "words"} for each in watched] + [
            {"gptq": {"preset": ["study", "study_damp05", "modern"], **grouped}, "calibration": "words",
             "replicates": {"draws": 2, "jitter": 1}},
            {"gptq": {**grouped, "gptaq": True, "static_groups": True}, "calibration": "words"},
            {"gptq": {**grouped, "inputs": ["float", "block"], "lm_head": True, "embedding": True}, "calibration": "words"},
            {"awq": {"preset": ["autoawq", "llm_compressor"], **grouped}, "calibration": "words"},
            {"awq": {**grouped, "inputs": "sequential", "clip": "all"}, "calibration": "words"},
            {"awq": {**grouped, "share": "linear", "duo": "both"}, "calibration": "words"}])
    yield of_one_run(
        "awq by the block's output", train=training(LLAMA, "adamw", every=4), metrics=metrics,
        quantizers=[{"awq": {**grouped, "objective": "block", "inputs": ["float", "sequential"]}, "calibration": "words"}])
    yield of_one_run(
        "quantizer activations", plugin="quantizer activations", train=training(LLAMA, "adamw", every=4), metrics=metrics,
        quantizers=[{"activations": {"activations": ["int8", "mxfp4"]}, "calibration": "words"},
                    {"activations": {"activations": "int4", "activation_per": "tensor", "activation_range": "max"}, "calibration": "words"},
                    {"activations": {"rotate": "all", "cache": "int4", "cache_group_size": 8, "cache_rotate": "both"}, "calibration": "words"},
                    {"gptq": {"bits": 4, "group_size": 32, "activations": "int8", "cache": "int4", "cache_group_size": 8},
                     "calibration": "words"}])
    yield of_one_run(
        "quantizer autoround", plugin="quantizer autoround", train=training(LLAMA, "adamw", every=4), metrics=metrics,
        quantizers=[{"autoround": {"bits": 3, "group_size": 32, "iterations": 4, "objective": ["block", "linear"]}, "calibration": "words"}])
    yield of_one_run(
        "transforms", train=training(LLAMA, "adamw", every=4), metrics=metrics,
        quantizers=[{quantizer: {}, "transform": transform, "calibration": "words"}
                    for quantizer in ("rtn", "gptq", "awq", "int8", "nf4")
                    for transform in ({"rotation": {"draw": 1}}, {"smoothquant": {"alpha": 0.4}})])


def metrics():
    rows = {"corpus": "words", "length": 32, "rows": 2}
    yield of_one_run(
        "metrics", train=training(LLAMA, "adamw", every=1),
        quantizers=[{"rtn": {"bits": 3, "group_size": 32}}],
        metrics=[{"validation_loss": {"corpus": "words", "block": 32}, "fused": True},
                 {"divergence": {"corpus": "words", "block": 32}}, {"weights": {"outlier": 3, **rows}},
                 {"taylor": {"parts": "blocks", "curvature": ["gauss_newton", "forward", "differences"], **rows}},
                 {"sharpness": {"relative": [True, False], **rows}},
                 {"landscape": {"corpus": "words", "block": 32, "blocks": 2, "resolution": [3, 2], "plane": ["pca", "line"]}},
                 {"hessian": {"top": 1, "steps": 6, "trace_samples": 2, "density_probes": 1, "density_steps": 4,
                              "curvature": ["hessian", "gauss_newton"], "parts": "blocks", **rows}},
                 {"hessian": {"top": 1, "steps": 6, "trace_samples": 0, "method": "power", "dtype": "float64", **rows}}])
    yield of_one_run("metric depth_loss", plugin="metric depth_loss", train=training(LLAMA, "adamw", every=1),
                     quantizers=[{"rtn": {"bits": 3, "group_size": 32, "lm_head": True}}],
                     metrics=[{"depth_loss": {"corpus": "words", "block": 32}}])
    yield of_one_run("metric error_decomposition", plugin="metric error_decomposition",
                     train=training(LLAMA, "adamw", every=1),
                     quantizers=[{"rtn": {"bits": 3, "group_size": 32, "embedding": True}}],
                     metrics=[{"error_decomposition": {"corpus": "words", "block": 32}}])
    yield of_one_run("optimizer soap", plugin="optimizer soap", train=training(LLAMA, "soap", every=1),
                     quantizers=[{"rtn": {"bits": 3, "group_size": 32}}],
                     metrics=[{"validation_loss": {"corpus": "words", "block": 32}}])
    yield of_one_run("optimizer shampoo", plugin="optimizer shampoo", train=training(LLAMA, "shampoo", every=1),
                     quantizers=[{"rtn": {"bits": 3, "group_size": 32}}],
                     metrics=[{"validation_loss": {"corpus": "words", "block": 32}}])
    longer = {**LLAMA, "max_position_embeddings": 512}
    # Without `log`: a process of its own may write only into its scratch folder.
    exams = {"data": ["{data}/tasks/jsonl", "{data}/tasks/parquet", "{data}/tasks/saved"], "shots": [0, 2],
             "tasks": [["arc_easy", "hellaswag", "mathqa"]]}
    yield of_one_run("metric tasks", train=training(longer, "adamw", tokenizer="{data}/tasks/tokenizer.json", every=4),
                     quantizers=[{"rtn": {"bits": 3, "group_size": 32}}], metrics=[{"tasks": exams}])


def corpora():
    sources = {
        "paragraphs": {"text": {"path": "words.txt", "split": "blank_line"}},
        "lines": {"jsonl": {"path": "{data}/tasks/jsonl/math_qa/test.jsonl", "field": "Problem"}},
        "zipped": {"jsonl": {"path": "{data}/tasks/jsonl/math_qa/train.jsonl.gz", "field": "Problem"}},
        "ids": {"tokens": {"path": "ids.safetensors"}},
        "parquet": {"arrow": {"path": "{data}/tasks/parquet/hellaswag/data/train-00000-of-00001.parquet", "field": "ctx"}},
        "stream": {"arrow": {"path": "{data}/tasks/saved/math_qa/test", "field": "Problem"}},
        "half": {"text": {"path": "words.txt", "split": "line"}, "part": "held_out", "held_out": 0.5},
        "words": {"text": {"path": "words.txt"}}}
    yield of_one_run(
        "corpora", files={"ids.safetensors": token_file()}, corpora=sources,
        train=training(LLAMA, "adamw", corpus="parquet"),
        calibration={"whole": {"corpus": "lines", "documents": 3},
                     "padded": {"corpus": "stream", "pads": "counted", "pad_id": 0, "pad_batch": 2},
                     "ids": {"corpus": "ids", "sequences": 2, "length": 16, "packing": "concat"}},
        quantizers=[{"gptq": {"bits": 3, "group_size": 32}, "calibration": name, "label": name}
                    for name in ("whole", "padded", "ids")],
        metrics=[{"validation_loss": {"corpus": name, "block": 16}} for name in sources])


def token_file():
    rows = [[(7 * row + 3 * column * column) % 256 for column in range(40)] for row in range(5)]
    data = b"".join(struct.pack("<40i", *row) for row in rows)
    header = json.dumps({"ids": {"dtype": "I32", "shape": [5, 40], "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


TOKENIZERS = ["tasks/tokenizer.json"] + [f"sentencepiece/{name}.model" for name in ("unigram", "unigram_bytes", "bpe",
                                                                                     "bpe_suffix")]


def tokenizers():
    """The last of them trains; under the others the same weights read other ids."""
    wide = {**LLAMA, "vocab_size": 512}
    texts = "".join(json.dumps(text) + "\n" for text in [PROSE, "", "ﬁ naïve 日本語 345\t…", "a_b=x.y 6.78 <tool> " * 30])
    commands = [Command(["run", "m.yaml", "--json"]), Command(["run", "read.yaml", "--json"])]
    branches = {}
    for number, file in enumerate(TOKENIZERS):
        # One weight file for each: a checkpoint may be in one branch only.
        commands.insert(number + 1, Command(["average", "runs/m/checkpoints/step4", "--scheme", "soup", "-o", f"copy-{number}",
                                             "--tokenizer", "{data}/" + file, "--json"]))
        branches[f"b{number}"] = {"model": f"copy-{number}", "tokenizer": "{data}/" + file}
        commands.append(Command(["tokenize", "{data}/" + file, "--special"], texts))
    metrics = [{"validation_loss": {"corpus": "words", "block": 32}}]
    yield Case("tokenizers", commands,
               {"m.yaml": manifest(name="m", metrics=metrics,
                                   train=training(wide, "sgd", every=4, tokenizer="{data}/" + TOKENIZERS[-1])),
                "words.txt": PROSE * 20,
                "read.yaml": manifest(checkpoints={"branches": branches}, metrics=metrics)})


# A format, and what it can hold.
WRITTEN = [("gptq", "gptq:bits=3,group_size=32"), ("gptq_v2", "gptq:bits=4,group_size=32,sym=false"),
           ("awq", "rtn:bits=4,group_size=32,sym=false"), ("bnb_int8", "rtn:bits=8,group_size=-1"),
           ("compressed-tensors", "gptq:bits=4,group_size=32,desc_act=true")]


def formats():
    loss = "validation_loss:text=words.txt,block=32"
    commands = [Command(["run", "m.yaml", "--json"])]
    for name, quantizer in WRITTEN:
        commands.append(Command(["quantize", "runs/m/checkpoints/step4", "--quantizer", quantizer, "--format", name, "-o",
                                 f"written-{name}", "--calibration", "text=words.txt,sequences=2,length=32", "--json",
                                 "--metric", loss]))
        commands.append(Command(["eval", f"written-{name}", "--metric", loss, "--quantizer", "rtn:bits=3,group_size=32",
                                 "--json"]))
    read = manifest(checkpoints={"branches": {name: {"model": f"written-{name}"} for name, _ in WRITTEN}},
                    metrics=[{"validation_loss": {"corpus": "words", "block": 32}}])
    trained = manifest(name="m", train=training(LLAMA, "adamw", every=4), metrics=["weights"])
    yield Case("formats, written and read", [*commands, Command(["run", "read.yaml", "--json"])],
               {"m.yaml": trained, "words.txt": PROSE * 20, "read.yaml": read})
    exported = [{"rtn": {"bits": 4, "group_size": 32}, "export": name, "label": name}
                for name in ("gptq", "awq", "compressed-tensors")]
    exported += [{"rtn": {"bits": 4, "group_size": 32, "sym": False}, "export": "gptq_v2"},
                 {"rtn": {"bits": 8, "group_size": -1}, "export": "bnb_int8"}]
    yield of_one_run("formats as a run exports them", train=training(LLAMA, "adamw", every=4), quantizers=exported,
                     metrics=[{"validation_loss": {"corpus": "words", "block": 32}}])
    foreign = [("gguf", {"model": "{data}/gguf/llama.gguf", "tokenizer": "bytes"}),
               ("torch", {"model": "{data}/training_checkpoint/step10.pth", "tokenizer": "bytes",
                          "config": "{data}/training_checkpoint/plain/config.json"})]
    for name, checkpoint in foreign:
        yield of_one_run(f"format {name}", checkpoints=checkpoint,
                         quantizers=[{"rtn": {"bits": 3, "group_size": -1}},
                                     {"gptq": {"bits": 3, "group_size": -1}, "calibration": "words"}],
                         metrics=[{"validation_loss": {"corpus": "words", "block": 32}}, "weights"])


def all_cases():
    return [*families(), *precisions(), *averages(), *quantizers(), *metrics(), *corpora(), *tokenizers(), *formats()]
