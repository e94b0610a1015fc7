#!/usr/bin/env python3
"""Enumerates the jobs of files in the form of the study's, as a witness of the host's own enumeration: the product of all lists
in the order of the keys, the last one fastest. Values are text, as they stand in the file.

  jobs.py FILE ... > jobs.json                 {file: [{key: value}, ...]}
  jobs.py --digest ROOT > jobs_of_study.json   {file below ROOT: [number of jobs, SHA-256 of their lines of JSON]}
"""
import hashlib, itertools, json, pathlib, sys
import yaml


def jobs(path):
    document = yaml.load(pathlib.Path(path).read_text(), Loader=yaml.BaseLoader)  # every scalar is text
    axes = [value if isinstance(value, list) else [value] for value in document.values()]
    return [dict(zip(document, values)) for values in itertools.product(*axes)]


def digest(path):
    hash, count = hashlib.sha256(), 0
    for job in jobs(path):
        hash.update((json.dumps(job, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n").encode())
        count += 1
    return [count, hash.hexdigest()]


if sys.argv[1] == "--digest":
    root = pathlib.Path(sys.argv[2])
    found = {str(path.relative_to(root)): digest(path) for path in sorted(root.rglob("*.yaml"))}
    print("{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()) + "\n}")
else:
    found = {pathlib.Path(path).name: jobs(path) for path in sys.argv[1:]}
    lines = [f" {json.dumps(name)}: [\n" + ",\n".join("  " + json.dumps(job) for job in each) + "\n ]" for name, each in found.items()]
    print("{\n" + ",\n".join(lines) + "\n}")
