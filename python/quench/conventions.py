"""Records in the forms that leaderboards and evaluation tools read: Every Eval Ever, and the results of lm-eval.

    from quench import conventions
    conventions.write_every_eval(folder, quench.records("runs/m"))
    conventions.write_lm_eval(folder, quench.records("runs/m"))

`quench results --eee DIR` and `--lm-eval DIR` start this module with records on its standard input, as tables.py. One file stands
for one model: a checkpoint or an average, float or as one quantizer leaves it. The folder must be new or empty: nothing is
overwritten.
"""

import argparse
import json
import math
import os
import re
import sys
import time

from .run_records import is_of_unit
from .tables import Failure, Lines
from .values import canonical, is_number, member

EEE_SCHEMA = "0.3.0"  # of Every Eval Ever
# Ends of what a value can be, by unit.
_BOUNDS = {"accuracy": (0.0, 1.0), "nats/token": (0.0, "Infinity"), "1": ("-Infinity", "Infinity")}


def _is_measured(record):
    return not record["error"] and is_number(record["value"]) and math.isfinite(record["value"])


def model_id(record):
    """"org/name" of a hub, else the last name of the path: where it lies on this machine is left out."""
    name = str(member(record["checkpoint"], "model") or "unknown")
    return name[len("hf://"):] if name.startswith("hf://") else os.path.basename(os.path.normpath(name))


def model_name(record):
    """"org/name@step1000", with the average and the quantizer behind it."""
    checkpoint = record["checkpoint"] or {}
    words = [model_id(record) + ("@" + str(checkpoint["revision"]) if checkpoint.get("revision") else "")]
    words += [str(checkpoint["branch"])] if checkpoint.get("branch") else []
    words += [str(member(record[part], "label")) for part in ("averaging", "quantizer") if record[part]]
    words += ["%s %d" % (name, record[name]) for name in ("draw", "jitter") if record[name]]
    return ", ".join(words)


def by_model(records):
    """[[record]]: those of one model each, in the order of the first ones."""
    groups = {}
    for record in records:
        if _is_measured(record):
            key = canonical([record["job"], record["checkpoint"], member(record["averaging"], "label"),
                             member(record["averaging"], "members"), member(record["quantizer"], "label"),
                             member(record["quantizer"], "params"), record["draw"], record["jitter"]])
            groups.setdefault(key, []).append(record)
    return list(groups.values())


def _texts(values):
    """What is known, as texts."""
    return {name: value if isinstance(value, str) else canonical(value) for name, value in values.items() if value is not None}


def _source(record):
    """What a value was measured on: its corpus, or the questions of its tasks."""
    details = getattr(record, "source", record)["details"]
    corpora = member(details, "corpora") or {}
    for corpus in corpora.values():
        return {"dataset_name": str(member(corpus, "name")), "source_type": "other",
                "additional_details": _texts({"sha256": member(corpus, "fingerprint"), "tokens": member(details, "tokens"),
                                              "blocks": member(details, "blocks")})}
    names = sorted(details["tasks"]) if isinstance(member(details, "tasks"), dict) else [record["label"] or record["metric"]]
    return {"dataset_name": "+".join(names), "source_type": "other"}


def _eee_result(record):
    low, high = next((ends for unit, ends in _BOUNDS.items() if is_of_unit(record["unit"], unit)), (None, None))
    out = {"evaluation_result_id": record["key"] and "%s/%d/%s" % (record["key"], record["index"], record["metric"]),
           "evaluation_name": record["label"] or record["metric"], "source_data": _source(record),
           "metric_config": {"metric_id": "quench." + record["metric"], "metric_name": record["metric"],
                             "metric_unit": record["unit"], "lower_is_better": record["direction"] == -1,
                             "score_type": "continuous", "min_score": low, "max_score": high},
           "score_details": {"score": float(record["value"])}}
    if not out["evaluation_result_id"]:
        del out["evaluation_result_id"]
    if is_number(record["stderr"]) and math.isfinite(record["stderr"]):
        uncertainty = {"standard_error": {"value": float(record["stderr"]), "method": "analytic"}}
        count = len(record["items"] or ()) or member(record["details"], "items")
        if isinstance(count, int) and count > 0:
            uncertainty["num_samples"] = count
        out["score_details"]["uncertainty"] = uncertainty
    return out


def every_eval(group, now):
    """One log of Every Eval Ever, or None if no value says whether more or less is better."""
    results = [_eee_result(record) for record in group if record["direction"]]
    if not results:
        return None
    first = group[0]
    checkpoint, environment, quantizer = (first[name] or {} for name in ("checkpoint", "environment", "quantizer"))
    is_public = str(checkpoint.get("model")).startswith("hf://")
    return {
        "schema_version": EEE_SCHEMA, "evaluation_id": "quench/%s/%d" % (model_name(first), now), "retrieved_timestamp": str(now),
        "source_metadata": {"source_name": "quench", "source_type": "evaluation_run", "source_organization_name": "unknown",
                            "evaluator_relationship": "other"},
        "eval_library": {"name": "quench", "version": str(environment.get("quench") or "unknown"),
                         "additional_details": _texts({part: environment.get(part) for part in ("family", "isa", "libm", "seed")})},
        "model_info": {"name": model_name(first), "id": model_id(first),
                       "inference_engine": {"name": "quench", "version": str(environment.get("quench") or "unknown")},
                       "additional_details": {
                           "deployment_type": "self_deployed", "model_availability": "open_weights" if is_public else "unknown",
                           **_texts({"revision": checkpoint.get("revision"), "commit": checkpoint.get("commit"),
                                     "step": checkpoint.get("step"), "averaging": member(first["averaging"], "label"),
                                     "quantizer": quantizer.get("label"), "quantizer_params": quantizer.get("params"),
                                     "bits_per_weight": quantizer.get("bits_per_weight"),
                                     "calibration": quantizer.get("calibration"), "dtype": environment.get("dtype"),
                                     "device": environment.get("device")})}},
        "evaluation_results": results}


def lm_eval(group, now):
    """What lm-eval writes of one model, or None if no task and no bits per byte were measured."""
    first = group[0]
    checkpoint, environment = first["checkpoint"] or {}, first["environment"] or {}
    out = {"results": {}, "group_subtasks": {}, "configs": {}, "versions": {}, "n-shot": {}, "higher_is_better": {}, "n-samples": {}}
    for record in group:
        details = record["details"]
        params = member(details, "params") or {}
        tasks = member(details, "tasks")
        for task, said in tasks.items() if isinstance(tasks, dict) and record["index"] == 0 else ():
            values = {"alias": task}
            for measure in ("acc", "acc_norm"):
                if is_number(member(said, measure)):
                    values[measure + ",none"] = said[measure]
                    stderr = member(said, measure + "_stderr")
                    values[measure + "_stderr,none"] = stderr if is_number(stderr) else "N/A"
            out["results"][task] = values
            out["configs"][task] = {"task": task, "num_fewshot": params.get("shots"), "test_split": member(said, "split")}
            out["versions"][task] = member(said, "version")
            out["n-shot"][task] = params.get("shots")
            out["higher_is_better"][task] = {measure.partition(",")[0]: True for measure in values if measure.startswith("acc")
                                             and "stderr" not in measure}
            asked = member(said, "n")
            out["n-samples"][task] = {"original": asked + (member(said, "left_out") or 0) if is_number(asked) else asked, "effective": asked}
        if is_number(member(details, "bits_per_byte")) and record["index"] == 0:
            task = record["label"] or record["metric"]
            out["results"][task] = {"alias": task, "bits_per_byte,none": details["bits_per_byte"],
                                    "bits_per_byte_stderr,none": "N/A"}
            out["configs"][task] = {"task": task, "num_fewshot": 0}
            out["n-shot"][task], out["higher_is_better"][task] = 0, {"bits_per_byte": False}
            out["n-samples"][task] = {"original": len(record["items"] or ()), "effective": len(record["items"] or ())}
    if not out["results"]:
        return None
    quantizer = member(first["quantizer"], "label")
    args = [("pretrained", model_id(first)), ("revision", checkpoint.get("revision")), ("dtype", environment.get("dtype")),
            ("quantizer", quantizer)]
    return {**out, "config": {"model": "quench", "model_args": ",".join("%s=%s" % each for each in args if each[1] is not None),
                              "model_dtype": environment.get("dtype"), "model_revision": checkpoint.get("revision"),
                              "model_sha": checkpoint.get("commit"), "device": environment.get("device"),
                              "random_seed": environment.get("seed")},
            "date": float(now), "model_name": model_name(first), "model_name_sanitized": file_name(model_name(first)),
            "model_source": "quench"}


def file_name(text):
    """As lm-eval makes a folder's name of a model's."""
    return re.sub(r"[\"<>:/|\\?*\[\] ,=@\0-\x1f]+", "__", text)[:150]


def _write(folder, documents):
    """{path below the folder: JSON}. Raises Failure and OSError."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise Failure("%s: is not empty, wanted a new folder: nothing is overwritten" % folder)
    for path, document in documents.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=1)
            file.write("\n")
    return len(documents)


def _unique(documents):
    """Models whose names make one file's name get numbers."""
    out = {}
    for stem, end, document in documents:
        number = 1
        while stem + ("_%d" % number if number > 1 else "") + end in out:
            number += 1
        out[stem + ("_%d" % number if number > 1 else "") + end] = document
    return out


def write_every_eval(folder, records, now=None):
    """A file a model. Returns how many. Raises Failure and OSError."""
    now = int(time.time()) if now is None else now
    made = [(file_name(model_name(group[0])), ".json", every_eval(group, now)) for group in by_model(records)]
    return _write(folder, _unique([each for each in made if each[2]]))


def write_lm_eval(folder, records, now=None):
    """A folder a model, as `lm_eval --output_path` writes them. Returns how many. Raises Failure and OSError."""
    now = int(time.time()) if now is None else now
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S.000000", time.gmtime(now))
    made = [(file_name(model_name(group[0])), "/results_%s.json" % stamp, lm_eval(group, now)) for group in by_model(records)]
    return _write(folder, _unique([each for each in made if each[2]]))


def main():
    parser = argparse.ArgumentParser(prog="quench results", description=__doc__.splitlines()[0])
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--eee", metavar="DIR")
    form.add_argument("--lm-eval", metavar="DIR")
    options = parser.parse_args()
    folder, write = (options.eee, write_every_eval) if options.eee else (options.lm_eval, write_lm_eval)
    try:
        count = write(folder, Lines(sys.stdin.buffer))
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except OSError as failure:
        print("%s: %s" % (failure.filename or folder, failure.strerror), file=sys.stderr)
        return 1
    print("%s: %d model%s" % (folder, count, "" if count == 1 else "s"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
