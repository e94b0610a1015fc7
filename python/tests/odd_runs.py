"""Runs with all that is odd in records: signs that Markdown and LaTeX read, numbers without a form in JSON, failed
cells, values that are there twice, points of a sweep that set numbers, texts and lists under one name, several
texts that a metric measured on."""

import hashlib
import json
import os
import sys

import support  # noqa: F401, finds the package
from quench.values import canonical

CHECKPOINT = {"model": "m", "revision": "step200", "branch": "main", "step": 200, "tokens": 3000, "parent": None,
              "phase": "stable", "lr": 0.0001, "commit": None}
ENVIRONMENT = {"family": "template", "dtype": "float32", "device": "cpu", "seed": 0, "isa": "avx2"}


def record(**fields):
    """A record in which `fields` differ from a usual one; its key follows from them."""
    usual = {
        "schema": 2, "averaging": None, "cached": None, "checkpoint": CHECKPOINT, "count": 1,
        "details": {"corpora": {}, "params": {"block": 128}}, "direction": -1, "draw": None, "environment": ENVIRONMENT,
        "error": None, "index": 0, "items": [2.5, 2.4000000000000004, 1e15, 1e16, 1e-7, 3], "jitter": None, "job": 0,
        "label": "validation_loss on x", "metric": "validation_loss", "parts": {"metric": {"id": "validation_loss"}},
        "quantizer": None, "seconds": 0.25, "stderr": 0.25, "unit": "nats/token", "value": 2.0}
    key = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    return {**usual, **fields, "key": key}


def quantizer(label, **fields):
    params = {"bits": 4, "damp": 0.01, "z": 1e15, "n": [1, 2.5, None, True, "é\n\x7f"]}
    return {"id": "q", "label": label, "bits_per_weight": 3.15, "params": params, "calibration": None, **fields}


def failed(error, **fields):
    return record(error=error, value=None, stderr=None, items=[], **fields)


def odd():
    at_400 = {**CHECKPOINT, "revision": "step400", "step": 400}
    soup = {"id": "soup", "members": ["main@1"], "params": {}}
    accuracy = {"metric": "accuracy", "unit": "accuracy", "direction": 1, "label": "acc"}
    q4 = quantizer("q4")
    return [
        record(), record(quantizer=q4, value=2.5),
        record(quantizer=quantizer('q|3_x, "b" *a* `c` [d] ~^\\ <e> & 50% $#{}'), value=2.75, draw=0),
        record(quantizer=q4, draw=2, jitter=1, value=2.6, items=[]),
        record(quantizer=quantizer("nan", bits_per_weight="NaN"), value="NaN", stderr="Infinity"),
        record(quantizer=quantizer("inf", bits_per_weight="Infinity"), value="-Infinity", stderr=None),
        record(quantizer=quantizer("a\n\x1b[31m\x9b\x85\ue000 ΔQL ± ü 😀" * 3), value=3, stderr=1e-9),
        failed("no memory\nat all \x07", quantizer=quantizer("q_fail"), label="loss_2"),
        record(checkpoint={**CHECKPOINT, "branch": None, "revision": None, "stored": {"format": "gptq", "bits": 4}}, label="s"),
        record(checkpoint={**CHECKPOINT, "branch": "", "stored": {"format": "gguf", "bits": None}}, label="t"),
        record(checkpoint=at_400, averaging={**soup, "label": "last 2"}),
        record(checkpoint=at_400, averaging=soup, quantizer=q4, value=9.0),
        record(**accuracy, value=0.75, items=[1, 0, 1, 1], stderr=0.1),
        record(**accuracy, value=0.5, items=[1, 0, 0, 1], quantizer=q4),
        record(label="validation_loss", value=0, items=[0, 0]),
        record(label="validation_loss", value=1, quantizer=q4, items=[1, 2]),
        record(value=2**63, label="big", seconds=1e300), record(value=1e15, label="big2", stderr=123456789012345.0)]


def sweep():
    def at(job, point, **fields):
        return record(environment={**ENVIRONMENT, "sweep": point}, job=job, **fields)

    third = {"train.lr": {"peak": 1e15, "kind": "cosine"}, "seed": 2, "train.seed": 7, "flag": 1, "mix": True, "list": 3,
             "num": "NaN"}
    return [
        at(0, {"train.lr": {"peak": 0.25, "kind": "cosine"}, "seed": 0, "train.seed": 7, "flag": True, "mix": 1,
               "list": [1, 2], "num": 1, "x.y": "text"}),
        at(1, {"train.lr": {"peak": 0.5, "kind": "cosine"}, "seed": 1, "train.seed": 7, "flag": False, "mix": "a",
               "list": [1, 3], "num": 2.5, "x.y": None}, value=3),
        at(2, third, value=4, quantizer=quantizer("q4")), at(2, third, value=2.0),
        failed("bad", environment={**ENVIRONMENT, "sweep": {"train.lr": {"peak": 0.125}}}, job=3),
        at(4, {"lr": {}, "other": {"peak": 3}}), record(job=5)]


def texts():
    """Values of several texts in one folder: other blocks, contents of one name, corpora of another metric."""
    def on(block, fingerprint, name, **fields):
        key = {"id": "validation_loss", "params": {"block": block, "mode": "x" if block == 64 else None},
               "corpora": {"corpus": {"fingerprint": fingerprint, "sequences": 4}}}
        corpora = {"corpus": {"name": name, "fingerprint": fingerprint}} if name else None
        details = {"corpora": corpora, "params": {"block": block}}
        return record(**{"parts": {"metric": key}, "details": details, "label": "loss", **fields})

    def files(content, **fields):
        metric = {"id": "tasks", "params": {"few": 1.5}, "files": content, "data": {"é": [1e15, content]}}
        return record(**{"parts": {"metric": metric}, "details": {"corpora": {}}, "label": "tasks", "metric": "tasks",
                         "unit": "accuracy", "direction": 1, "items": [1, 0, 1], "value": 0.5, **fields})

    old = {"parts": None, "unit": "nats/token", "direction": -1}
    q4, q3, one, two = quantizer("q4"), quantizer("q3"), "1a2b3c4d5e6f", "ffeeddccbbaa"
    return [
        on(128, one, "web"), on(128, one, "web", quantizer=q4, value=2.5), on(64, one, "web", value=1.5),
        on(64, one, "other name", quantizer=q4, value=2.25), on(128, two, "web", value=3.0),
        on(128, two, "web", quantizer=q4, value=3.5), on(128, "0123456789", "book|s_é", quantizer=q3, value=4.0),
        on(64, "0123456789", None, quantizer=q3, value=4.5), on(128, two, "web", quantizer=q3, value="NaN"),
        failed("no memory", quantizer=q3, label="failing", parts={"metric": {"params": {"block": 256}}}),
        failed("no text", quantizer=q3, label="other", parts=None, details={}),
        record(metric="validation_loss/perplexity", label="loss", unit="1", value=9.5, index=0,
               parts={"metric": {"params": {"block": 64}}}, details={}),
        record(**old, label="old", details={"corpora": {"text": "a"}, "params": {"text": "t", "n": 1}}),
        record(**old, label="old", details={"corpora": {"text": "b"}, "params": {"text": "t", "n": 2}}, value=3.0),
        record(**old, label="old", details={"corpora": {"text": "b"}, "params": {"text": "t", "n": 2}}, value=3.25, quantizer=q4),
        files("00aa11bb22cc"), files("99aa11bb22cc", quantizer=q4, value=0.25), files("00aa11bb22cc", quantizer=q3, value=0.25)]


def changed():
    """The odd run again: some values differ, some items, one cell failed, one is gone and one is new."""
    out = [dict(one) for i, one in enumerate(odd()) if i != 8]
    for i, one in enumerate(out):
        if i % 3 == 1 and isinstance(one["value"], (int, float)):
            one["value"] = one["value"] * 1.37 + 0.001
            one["items"] = [item * 1.1 for item in one["items"]]
        if i % 5 == 1:
            one["items"] = one["items"][:-1]
    out[3].update(error="x", value=None, stderr=None)
    return [*out, record(label="new one")]


MANIFESTS = {
    "odd": {"name": "a", "n": 1, "f": 1.0, "b": True, "l": [1, 2, {"x": 1}], "m": [1], "gone": {"a": 1}, "t": "é\x1b",
            "big": "x" * 300},
    "changed": {"name": "a", "n": 1.0, "f": 2.5e-7, "b": 1, "l": [1, 3, {"x": None}], "m": [1, 2],
                "new": [1, {"z": 2, "a": 1e15}], "t": "ü", "big": "y" * 300},
    "sweep": {"name": "sweep"},
    "texts": {"name": "texts"},
}


def write_runs(folder):
    """Runs in the folders odd, changed, sweep and texts."""
    for name, records in ("odd", odd()), ("changed", changed()), ("sweep", sweep()), ("texts", texts()):
        run = os.path.join(folder, name)
        os.makedirs(run)
        with open(os.path.join(run, "manifest.json"), "w", encoding="utf-8") as file:
            json.dump(MANIFESTS[name], file)
        with open(os.path.join(run, "records-0-0001-00000000.jsonl"), "w", encoding="utf-8") as file:
            for one in records:
                body = canonical(one)
                file.write('{"record":%s,"sha256":"%s"}\n' % (body, hashlib.sha256(body.encode()).hexdigest()))


if __name__ == "__main__":
    write_runs(sys.argv[1])
