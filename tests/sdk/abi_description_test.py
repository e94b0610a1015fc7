#!/usr/bin/env python3
"""Each kind of difference between abi.json and the headers is reported, and nothing else.

    abi_description_test.py sdk/include/quench/abi sdk/abi.json
"""
import copy
import json
import pathlib
import sys
import tempfile

from abi_description import differences

CHANGES = {
    "a function is missing": (
        lambda abi: abi["tables"]["quench_corpus_table"]["functions"].pop(2),
        "quench_corpus_table: functions ['open', 'close', 'fingerprint', 'extension'], wanted "
        "['open', 'close', 'next', 'fingerprint', 'extension']"),
    "a parameter is missing": (
        lambda abi: abi["tables"]["quench_corpus_table"]["functions"][0]["parameters"].pop(1),
        "quench_corpus_table.open: parameters ['parameters_json', 'corpus', 'error'], wanted "
        "['parameters_json', 'bytes', 'corpus', 'error']"),
    "a member is missing": (
        lambda abi: abi["structs"]["quench_file_head"]["fields"].pop(),
        "quench_file_head: members ['name', 'bytes', 'count'], wanted ['name', 'bytes', 'count', 'size']"),
    "a struct is missing": (
        lambda abi: abi["structs"].pop("quench_file_head"),
        "quench_file_head of kind/tokenizer.h: not described"),
}


def main():
    headers, path = sys.argv[1:3]
    description = json.loads(pathlib.Path(path).read_text())
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / "abi.json"
        for name, (change, wanted) in CHANGES.items():
            abi = copy.deepcopy(description)
            change(abi)
            changed.write_text(json.dumps(abi))
            found = list(differences(headers, changed))
            if found != [wanted]:
                print(f"{name}: got {found}, wanted {[wanted]}")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
