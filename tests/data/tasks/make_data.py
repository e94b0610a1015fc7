#!/usr/bin/env python3
"""The questions of rows.py in every form in which data sets are published, and the requests that lm-eval makes of them.

  make_data.py [FOLDER]        (default: the folder of this script)

Writes saved/ (save_to_disk), parquet/ (shards below data/, as on the hub), typed/ (the same with large strings, string
views, dictionaries, large lists and small row groups), jsonl/ (plain and gzip), prompts.json (per task and number of
shots: context, continuations and target of every question, from lm-eval's own task files) and tokenizer.json (a token
for each byte). Made with lm-eval 0.4.13, datasets 5.0.1, pyarrow 26.0.1; HF_HUB_OFFLINE=1 will do.
"""
import gzip
import json
import pathlib
import shutil
import sys
import tempfile

import datasets
import lm_eval
import pyarrow as pa
import pyarrow.parquet as pq
from lm_eval.tasks import TaskManager

import rows

STRING, TEXTS = datasets.Value("string"), datasets.List(datasets.Value("string"))
# Task: folder below the data folder; the published columns; splits and how many shards each has.
SETS = {
    "hellaswag": ("hellaswag", {**{name: STRING for name in rows.HELLASWAG}, "ind": datasets.Value("int32"),
                                "endings": TEXTS}, rows.hellaswag, {"train": 1, "validation": 3}),
    "mathqa": ("math_qa", {name: STRING for name in rows.MATHQA}, rows.mathqa, {"train": 1, "test": 3}),
    "arc_easy": ("ai2_arc/ARC-Easy", {**{name: STRING for name in rows.ARC}, "choices": {"text": TEXTS, "label": TEXTS}},
                 rows.arc_easy, {"train": 2, "test": 1}),
}


def typed(table):
    """The table with types that other writers choose for the same values."""
    columns = {}
    for i, name in enumerate(table.column_names):
        values = table[name].to_pylist()
        kinds = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
        if name == "endings":
            kinds = [pa.large_list(pa.large_string())]
        elif name == "choices":
            kinds = [pa.struct([("text", pa.large_list(pa.string())),
                                ("label", pa.list_(pa.dictionary(pa.int8(), pa.string())))])]
        elif name == "ind":
            kinds = [pa.int64()]
        columns[name] = pa.array(values, kinds[i % len(kinds)])
    return pa.table(columns)


def write_forms(folder):
    for path, features, make, splits in SETS.values():
        for split, shards in splits.items():
            data = datasets.Dataset.from_list(make(split), features=datasets.Features(features))
            data.save_to_disk(folder / "saved" / path / split)
            for form in ("parquet/" + path + "/data", "typed/" + path, "jsonl/" + path):
                (folder / form).mkdir(parents=True, exist_ok=True)
            for i in range(shards):
                name = f"{split}-{i:05d}-of-{shards:05d}.parquet"
                data.shard(shards, i, contiguous=True).to_parquet(folder / "parquet" / path / "data" / name)
            pq.write_table(typed(data.data.table), folder / "typed" / path / f"{split}.parquet", row_group_size=2)
            lines = "".join(json.dumps(row, ensure_ascii=split == "train") + "\n" for row in make(split)).encode()
            plain = split != "train"
            (folder / "jsonl" / path / f"{split}.jsonl{'' if plain else '.gz'}").write_bytes(
                lines if plain else gzip.compress(lines, mtime=0))


def requests_of(task, folder, shots):
    path, _, _, splits = SETS[task]
    files = {split: sorted(str(file) for file in (folder / "parquet" / path / "data").glob(f"{split}-*"))
             for split in splits}
    published = next((pathlib.Path(lm_eval.__file__).parent / "tasks").rglob(f"{task}.yaml"))
    with tempfile.TemporaryDirectory() as own:
        spec = pathlib.Path(own) / "local.yaml"
        spec.write_text(json.dumps({"include": str(published), "task": task, "dataset_path": "parquet",
                                    "dataset_name": None, "dataset_kwargs": {"data_files": files}}))
        made = TaskManager().load([str(spec)])["tasks"][task]
    made.set_config("num_fewshot", shots)
    made.set_fewshot_seed(1234)
    made.build_all_requests(rank=0, world_size=1)
    out = []
    for doc_id, doc in enumerate(made.eval_docs):
        arguments = [instance.args for instance in made.instances if instance.doc_id == doc_id]
        assert len({context for context, _ in arguments}) == 1
        out.append({"context": arguments[0][0], "continuations": [continuation for _, continuation in arguments],
                    "target": made.doc_to_target(doc)})
    return out


def byte_tokenizer():
    """GPT-2's names of the 256 bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    names = {chr(byte): byte for byte in shown} | {chr(256 + i): byte for i, byte in enumerate(hidden)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": dict(sorted(names.items(), key=lambda item: item[1])), "merges": []}}


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for form in ("saved", "parquet", "typed", "jsonl"):
        shutil.rmtree(folder / form, ignore_errors=True)
    with tempfile.TemporaryDirectory() as cache:
        datasets.config.HF_DATASETS_CACHE = cache
        write_forms(folder)
        golden = {"lm_eval": lm_eval.__version__, "tasks": {}}
        for task in SETS:
            golden["tasks"][task] = {str(shots): requests_of(task, folder, shots) for shots in (0, 5)}
    (folder / "prompts.json").write_text(json.dumps(golden, indent=1) + "\n")
    (folder / "tokenizer.json").write_text(json.dumps(byte_tokenizer(), separators=(",", ":")) + "\n")


main()
