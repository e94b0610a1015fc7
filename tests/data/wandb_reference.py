#!/usr/bin/env python3
"""Writes wandb_reference.json: files that Weights & Biases' own DataStore and protocol buffers wrote, for wandb_file_test.cpp.

wandb 0.21.4, protobuf 6 (`pip install "wandb==0.21.4"`; later versions have no DataStore). `logs`: containers of records of the
given sizes, byte j of record i being (7 i + j) mod 256, as their size and SHA-256. `line`: the file of one line, in hexadecimal.
"""
import hashlib, json, os, tempfile

import wandb
from wandb.proto import wandb_internal_pb2 as pb
from wandb.sdk.internal.datastore import DataStore

wandb._set_internal_process(disable=True)


def written(records):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log")
        store = DataStore()
        store.open_for_write(path)
        for record in records:
            store._write_data(record)
        store.close()
        return open(path, "rb").read()


def log(sizes):
    content = written([bytes((7 * i + j) % 256 for j in range(size)) for i, size in enumerate(sizes)])
    return {"sizes": sizes, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def line():
    records = [pb.Record(num=n + 1) for n in range(7)]
    records[0].header.version_info.producer = "quench"
    run = records[1].run
    run.project, run.display_name = "study", "main/rtn bits=3"
    run.run_id = hashlib.sha256(b'{"line":"main/rtn bits=3","project":"study"}').hexdigest()[:16]
    run.start_time.SetInParent()
    for key, value in (("branch", "null"), ("quantizer", '{"id":"rtn"}')):
        run.config.update.add(key=key, value_json=value)
    for n, step, values in ((2, 100, (("error", "0.125"), ("loss", "4.5"))), (3, 300, (("loss", "NaN"),))):
        for key, value in (*values, ("_step", str(step)), ("_timestamp", "0"), ("_runtime", "0")):
            records[n].history.item.add(nested_key=[key], value_json=value)
        records[n].history.step.num = step
    for key, value in (("error", "0.125"), ("loss", "NaN"), ("_step", "300")):
        records[4].summary.update.add(nested_key=[key], value_json=value)
    records[5].exit.SetInParent()
    records[6].final.SetInParent()
    return written([record.SerializeToString(deterministic=True) for record in records]).hex()


# From the header's 7 bytes on: one block to its last byte; 7 left, so that a first piece is empty; 6 left, and padded; several
# blocks; one byte more than what is left.
logs = [log(sizes) for sizes in ([3], [32754, 5], [32747, 5], [32748, 5], [100, 100000, 1], [32755, 32761, 32762])]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "wandb_reference.json"), "w") as out:
    json.dump({"wandb": wandb.__version__, "logs": logs, "line": line()}, out, indent=1)
    out.write("\n")
