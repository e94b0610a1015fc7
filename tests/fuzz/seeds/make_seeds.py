#!/usr/bin/env python3
"""Makes the seeds beside it: the smallest files that reach most of each reader.

  python3 tests/fuzz/seeds/make_seeds.py      # torch 2.11.0, safetensors
"""
import collections, json, pathlib, zipfile
import torch
from safetensors.torch import save

HERE = pathlib.Path(__file__).parent


def put(name, data):
    (HERE / name).write_bytes(data)


put("yaml/escapes.yaml", b'a: "x\\_y\\N"\n')
put("json/values.json", json.dumps({"a": [1, -2.5e-3, True, None, "\u00e9\n\U0001F600"], "": {}, "b": [[], {"c": 2**53}]}).encode())

# What a hub answers, behind a letter that says which reply it is.
git, lfs = "a" * 40, "b" * 64
put("hub/references", b"r" + json.dumps({
    "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": git},
                 {"name": "stage1-step10", "ref": "refs/heads/stage1-step10", "targetCommit": "c" * 40}],
    "tags": [{"name": "v/1", "ref": "refs/tags/v/1", "targetCommit": git}], "converts": []}).encode())
put("hub/commit", b"c" + json.dumps({"id": "org/name", "sha": git, "gated": False,
                                     "siblings": [{"rfilename": "config.json"}]}).encode())
put("hub/tree", b"t" + json.dumps([
    {"type": "directory", "oid": git, "size": 0, "path": "sub"},
    {"type": "file", "oid": git, "size": 23, "path": "config.json"},
    {"type": "file", "oid": git, "size": 3000, "path": "sub/model.safetensors",
     "lfs": {"oid": lfs, "size": 3000, "pointerSize": 134}, "xetHash": lfs}]).encode())
put("hub/link", b'l<https://hub.example/api/models/org/name/tree/main?recursive=true&cursor=Zm9v>; rel="next", '
                b'<//cdn.example:444/x>; rel="prev"')

one = torch.arange(6, dtype=torch.float32).view(2, 3)
half = torch.ones(2, dtype=torch.bfloat16)
torch.save({"epoch": 3, "state_dict": collections.OrderedDict(a=one, b=one.t(), c=half, d=torch.nn.Parameter(half)),
            "optimizer": {"lr": 1e-3, "state": [(1, None), "x"]}}, HERE / "torch_zip/state.pt")
with zipfile.ZipFile(HERE / "torch_zip/state.pt") as archive:
    put("pickle/state.pkl", archive.read("state/data.pkl"))
put("pickle/system.pkl", b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
# What torch.distributed.checkpoint wrote (tests/data/dcp.py), and one whose dtype is a call.
metadata = (HERE.parent.parent / "data/dcp/one/.metadata").read_bytes()
put("pickle/parts.metadata", metadata)
put("pickle/system.metadata", b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.")
put("safetensors/two.safetensors", save({"a": one, "b": half}, {"format": "pt"}))

# A config.json and, behind 0xFF, the file: GPTQ and AWQ, 4 bits, groups of 4.
gptq = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 4, "desc_act": False, "sym": True}}
awq = {"quantization_config": {"quant_method": "awq", "w_bit": 4, "q_group_size": 4, "zero_point": True}}
codes, groups = torch.full((1, 8), 0x12345678, dtype=torch.int32), torch.full((2, 1), 0x77777777, dtype=torch.int32)
scales = torch.full((2, 8), 0.5, dtype=torch.float16)
put("packed/gptq.bin", json.dumps(gptq).encode() + b"\xff" + save({"w.qweight": codes, "w.qzeros": groups, "w.scales": scales, "w.g_idx": torch.arange(8, dtype=torch.int32) // 4}))
floats = lambda layout, bits, **more: {"quantization_config": {"quant_method": "compressed-tensors", "format": layout, "config_groups": {
    "g": {"weights": {"num_bits": bits, "type": "float", **more}}}}}
nvfp4, fp8 = floats("nvfp4-pack-quantized", 4, strategy="tensor_group", group_size=16), floats("float-quantized", 8, strategy="block", block_structure=[2, 4])
ones = torch.full((3, 2), 0x38, dtype=torch.uint8).view(torch.float8_e4m3fn)
put("packed/nvfp4.bin", json.dumps(nvfp4).encode() + b"\xff" + save({"w.weight_packed": torch.full((3, 16), 0x7a, dtype=torch.uint8), "w.weight_scale": ones, "w.weight_global_scale": torch.tensor([4.0])}))
put("packed/fp8.bin", json.dumps(fp8).encode() + b"\xff" + save({"w.weight": ones, "w.weight_scale": torch.ones(2, 1)}))
put("packed/awq.bin", json.dumps(awq).encode() + b"\xff" + save({"w.qweight": codes.t().contiguous(), "w.qzeros": groups, "w.scales": scales}))

bpe = {"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120ab": 4}, "merges": ["a b", "\u0120 ab"]}
put("tokenizer/byte_level.json", json.dumps({
    "added_tokens": [{"id": 5, "content": "<s>", "special": True, "lstrip": False, "rstrip": True, "single_word": False, "normalized": False}],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "\\s?\\p{L}+|\\p{N}{1,3}"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                       "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}},
    "decoder": None, "model": bpe}).encode() + b"\xffab ab<s> ab")
# A word of which no id comes.
put("tokenizer/no_ids.json", json.dumps({"added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}).encode() + b"\xff!")
put("tokenizer/sentence_piece.json", json.dumps({
    "added_tokens": [],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "pre_tokenizer": None, "post_processor": None, "decoder": None,
    "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": False,
              "vocab": {"<unk>": 0, "\u2581": 1, "a": 2, "b": 3, "ab": 4, "\u2581ab": 5}, "merges": [["a", "b"], ["\u2581", "ab"]]}}).encode() + b"\xffab ac")
