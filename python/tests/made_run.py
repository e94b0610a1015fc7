"""Made runs: records with losses by a formula, written as the program writes them."""

import hashlib
import json
import math
import os
import random

from support import FileTest  # noqa: F401, it finds the package


def _canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _sealed(name, value):
    body = _canonical(value)
    return b'{"%s":%s,"sha256":"%s"}\n' % (name, body, hashlib.sha256(body).hexdigest().encode())


def _noise(*words):
    """A number between −1 and 1 that depends on the words alone."""
    return int(hashlib.sha256(repr(words).encode()).hexdigest()[:8], 16) / 2147483648 - 1


class MadeRun:
    """Collects records. A set of weights is a dict: branch, step, and what `weights` adds to it."""

    def __init__(self, items=48, documents=0, model="hf://example/wsd-160m"):
        self.records, self.items, self.documents, self.model = [], items, documents, model
        self.training = {}  # path below training/: rows of its log
        self.schedules = []  # of run.json

    def weights(self, branch, step, lr=0.003, decayed=0.0, averaging=None, parent=None, revision=None, sweep=None, job=0,
                members=None, tokens=True, mark=None):
        revision = revision or "step%d" % step
        checkpoint = {"model": self.model, "revision": revision, "commit": "0123abcd", "branch": branch, "parent": parent,
                      "mark": mark, "step": step, "tokens": step * 2097152 if tokens else None, "lr": lr,
                      "phase": "decay" if parent else "constant"}
        average = averaging and {"id": averaging, "params": {"window": 5}, "label": averaging, "version": "0.1",
                                 "sha256": "ab", "members": members or []}
        return {"checkpoint": checkpoint, "averaging": average, "job": job, "sweep": sweep, "decayed": decayed}

    def _record(self, weights, metric, label, value, items, **more):
        environment = {"quench": "0.1.0", "family": "gpt_neox", "dtype": "float32", "device": "cpu", "seed": 0, "threads": 2,
                       "isa": "avx2", "libm": "glibc", "libraries": {}}
        if weights["sweep"] is not None:
            environment["sweep"] = weights["sweep"]
        name = weights["checkpoint"]["branch"] + "/" + weights["checkpoint"]["revision"]
        parts = {"weights": name + ("/" + weights["averaging"]["label"] if weights["averaging"] else ""),
                 "point": weights["sweep"], "metric": {"id": metric, "corpus": label}, "method": more.get("quantizer"),
                 "draw": more.get("draw"), "jitter": more.get("jitter")}
        if weights["averaging"]:
            parts["averaging"] = {"members": [weights["checkpoint"]["branch"] + "/" + each
                                              for each in weights["averaging"]["members"]]}
        record = {"averaging": weights["averaging"], "cached": None, "checkpoint": weights["checkpoint"], "count": 1,
                  "details": {"params": {"block": 2048, "corpus": "held_out"},
                              "corpora": {"corpus": {"name": "held_out", "fingerprint": "cafe"}}},
                  "direction": -1, "draw": None, "environment": environment, "error": None, "index": 0, "items": items,
                  "jitter": None, "job": weights["job"], "key": "", "label": label, "metric": metric, "parts": parts,
                  "quantizer": None, "schema": 2, "seconds": 0.5, "stderr": None, "unit": "nats/token", "value": value}
        record.update(more)
        record["parts"] = {**parts, "n": len(self.records)} if more.get("again") else parts
        record.pop("again", None)
        record["key"] = hashlib.sha256(_canonical(record["parts"])).hexdigest()
        self.records.append(record)
        return record

    def _float_loss(self, weights):
        thousands = weights["checkpoint"]["step"] / 1000
        seeds = [value for name, value in (weights["sweep"] or {}).items() if name in ("seed", "train.seed")]
        return 3.34 + 1.05 * thousands ** -0.7 - (0.13 if weights["averaging"] else 0) - 0.2 * weights["decayed"] \
            + 0.006 * _noise(weights["checkpoint"]["revision"], weights["checkpoint"]["branch"]) \
            + 0.02 * _noise("seed", seeds) + 0.1 * _noise("point", weights["sweep"]) * bool(weights["sweep"])

    def _items(self, loss, salt):
        """Blocks that resemble their neighbours, with the mean `loss`."""
        made = random.Random(repr(salt))
        rest, values = 0.0, []
        for i in range(self.items):
            rest = 0.5 * rest + 0.01 * made.gauss(0, 1)
            values.append(loss + 0.25 * _noise("block", i) + (rest if salt else 0))
        mean = sum(values) / self.items if values else 0
        return [value + loss - mean for value in values]

    def loss(self, weights, method=None, bits=None, draw=0, jitter=0, delta=None, label="validation_loss", error=None, **params):
        """A float loss or, with a method, a quantized one; gptq is calibrated."""
        floating = self._float_loss(weights) + 0.3 * _noise("corpus", label) * (label != "validation_loss")
        name = weights["checkpoint"]["revision"], weights["checkpoint"]["branch"], bool(weights["averaging"]), weights["sweep"]
        salt = ("float", label) if method is None else (method, bits, draw, jitter, params, label, name)
        value, more = floating, {}
        if method:
            size = (0.082 if bits == 3 else 0.017) * (1.9 if method == "rtn" else 1.0) * (1 + 0.05 * _noise(*name, method))
            size *= (1 - 0.3 * min(1, 1000 / weights["checkpoint"]["step"])) * (1 + 1.3 * weights["decayed"] ** 2)
            size *= 0.68 if weights["averaging"] else 1
            size *= 1 + 0.1 * _noise("point", weights["sweep"], method)
            value += (size if delta is None else delta) * (1 + 0.03 * _noise(*salt) * (1 if draw else 0.3 if jitter else 0))
            calibrated = method == "gptq"
            words = "".join(" %s=%s" % item for item in sorted(params.items()))
            more = {"quantizer": {"id": method, "params": {"bits": bits, "group_size": 128, **params},
                                  "label": "%s bits=%s%s" % (method, bits, words), "version": "0.1.0", "sha256": "cd",
                                  "bits_per_weight": bits + 0.15, "calibration": "web" if calibrated else None}}
            if calibrated:
                more.update(draw=draw, jitter=jitter)
        items = self._items(value, salt if method else ())
        if error:
            more.update(error=error)
        record = self._record(weights, "validation_loss", label, None if error else value, [] if error else items, **more)
        record["details"]["bits_per_byte"] = value / math.log(2) / 4.4
        if bits or method is None:
            record["details"]["stored_bytes"] = 1000 * (bits or 32) + len(weights["checkpoint"]["model"])
        if self.documents and not error:
            sizes = [64 + 37 * i % 101 + (2000 if i == 3 else 0) for i in range(self.documents)]
            each = [loss + 0.3 * _noise("document", i) + 0.02 * _noise(i, *salt) for i, loss in
                    enumerate([value] * self.documents)]
            nll = [n * loss for n, loss in zip(sizes, each)]
            shift = value - sum(nll) / sum(sizes)
            record["details"]["documents"] = {"scored": sizes, "nll": [total + n * shift for total, n in zip(nll, sizes)]}
        return record

    def value(self, weights, metric, value, items=(), label=None, unit="1", direction=0, quantizer=None, details=None):
        """A value of another metric."""
        out = self._record(weights, metric, label or metric.split("/")[0], value, list(items), unit=unit, direction=direction,
                           quantizer=quantizer)
        out["details"].update(details or {})
        return out

    def landscape(self, weights, is_line=False, trajectory=False):
        """A bowl over a plane, with a hole where the loss is not finite, or its section along a line."""
        x = [i / 4 - 1 for i in range(11)]
        y = [0.0] if is_line else [i / 3 - 1 for i in range(7)]
        loss = [[3 + a * a + 2 * b * b for a in x] for b in y]
        loss[0][0] = None
        points = [{"name": "step%d" % i, "at": [i / 3, 0.0 if is_line else i / 5], "loss": 3 + i} for i in range(4)]
        details = {"x": x, "y": y, "loss": loss, "points": points, **({"singular_values": [2.0, 1.0]} if trajectory else {})}
        self.value(weights, "landscape", 3.0, label="line" if is_line else "plane", details=details)

    def spectrum(self, weights):
        nodes = [weights["checkpoint"]["step"] / 1000 * (i + 1) ** 2 / 9 - 0.5 for i in range(8)]
        shares = [2.0 ** -i for i in range(7)]
        self.value(weights, "hessian/density", 1.0, details={"density": {"values": nodes, "weights": shares + [1 - sum(shares) / 2]}})

    def write(self, folder, manifest):
        os.makedirs(folder, exist_ok=True)
        for path, rows in self.training.items():
            path = os.path.join(folder, "training", path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.writelines(_sealed(b"row", row) for row in rows)
        with open(os.path.join(folder, "records-0-0001-00000000.jsonl"), "wb") as file:
            file.writelines(_sealed(b"record", record) for record in self.records)
        for name, value in (("manifest.json", manifest), ("run.json", {"quench": "0.1.0", "name": "made", "host": "node17",
                                                                      "schedules": self.schedules})):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(value, file, sort_keys=True)
        with open(os.path.join(folder, "manifest.yaml"), "w", encoding="utf-8") as file:
            file.write("name: made\n")
        return folder


DEMO_CONTRASTS = [
    {"a": "gptq", "b": "rtn"},
    {"a": "gptq", "b": "rtn", "match": ["bits", "checkpoint"]},
    {"a": "gptq", "b": "rtn", "at": "last"},
    {"a": "gptq", "b": "rtn", "at": "first", "of": "loss"},
    {"a": {"label": "gptq bits=3", "as": "three"}, "b": {"label": "gptq bits=4"}},
    {"a": "lawa", "b": "raw", "at": "last"},
    {"a": "lawa", "b": "members"},
    {"a": "decay6", "b": "constant", "match": ["bits", "step"]},
    {"a": "decay12", "b": "constant", "at": "last"},
    {"a": {"branch": ["decay6", "decay12"]}, "b": "constant", "match": ["tokens"]},
    {"a": "decay6", "b": "constant", "at": "equal_loss"},
    {"a": "decay6", "b": "constant", "at": "equal_loss", "within": 0.3},
    {"a": "decay12", "b": "decay6", "at": "equal_loss", "within": 0.3, "match": ["bits", "label"]},
    {"a": "lawa", "b": "raw", "at": "equal_loss", "within": 0.5},
    {"a": "gptq", "b": "rtn", "at": "equal_loss", "within": 2},
    {"a": "gptq", "b": "rtn", "statistic": "last_minus_first"},
    {"a": "rtn", "b": "gptq", "statistic": "last_minus_first"},
    {"a": "rtn", "b": "gptq", "statistic": "last_minus_first", "of": "loss"},
    {"a": "decay12", "b": "constant", "statistic": "slope_ratio", "over": "tokens"},
    {"a": "constant", "b": "decay6", "statistic": "slope_ratio", "over": "step"},
    {"a": "rtn", "b": "gptq", "statistic": "slope_ratio", "over": "lr"},
    {"a": "gptq", "statistic": "rank_correlation", "over": "lr"},
    {"a": "gptq", "statistic": "rank_correlation", "over": "tokens", "of": "loss"},
    {"a": "rtn", "b": "gptq", "statistic": "rank_correlation"},
    {"a": "gptq", "b": "rtn", "of": "hessian/trace"},
    {"a": "decay6", "b": "constant", "of": "hessian/trace", "match": ["step"]},
    {"a": "decay6", "b": "constant", "of": "hessian/trace", "match": ["step"], "statistic": "rank_correlation"},
    {"a": {"branch": "constant"}, "of": "hessian/trace", "statistic": "rank_correlation", "over": "step"},
    {"a": "nobody", "b": "rtn"},
    {"a": "gptq", "b": {"quantizer": "rtn", "params.group_size": 64}},
    {"a": {"quantizer": "gptq", "bits": 3}, "b": {"quantizer": "rtn", "bits": "4"}},
    {"a": {"averaging": "lawa", "checkpoint": "step12000"}, "b": {"averaging": None, "checkpoint": "step11000"}},
    {"a": {"calibration": "web"}, "b": {"calibration": None}, "match": ["bits", "checkpoint", "group"][:2]},
]


def demo(items=48, documents=0, draws=3, jitter=2, failures=True):
    """A trunk with two decays and averages: two methods at two widths, draws and orders at the ends."""
    run = MadeRun(items, documents)
    lines = [run.weights("constant", 1000 * i, mark="star" if i == 12 else None) for i in range(1, 13)]
    lines += [run.weights("constant", 1000 * i, averaging="lawa",
                          members=["step%d" % (1000 * j) for j in range(i - 4, i + 1)]) for i in range(5, 13)]
    for fork in (6, 12):
        lines += [run.weights("decay%d" % fork, 1000 * fork + 200 * i, 0.003 * (1 - i / 5), i / 5, parent="constant",
                              revision="decay%d-step%d" % (fork, 1000 * fork + 200 * i)) for i in range(1, 6)]
    for weights in lines:
        step = weights["checkpoint"]["step"]
        is_end = step in (1000, 5000, 12000, 6200, 7000, 12200, 13000)
        run.loss(weights)
        for method in ("rtn", "gptq"):
            for bits in (3, 4):
                calibrated = method == "gptq" and is_end
                orders = [(draw, 0) for draw in range(draws if calibrated else 1)]
                orders += [(0, order + 1) for order in range(jitter if calibrated else 0)]
                for draw, order in orders:
                    fails = failures and step == 3000 and method == "gptq" and bits == 4
                    run.loss(weights, method, bits, draw, order, error="not positive definite" if fails else None)
        if weights["averaging"] is None:
            run.value(weights, "hessian/trace", 100 * math.log(step) + 5 * _noise(step, weights["checkpoint"]["branch"]))
            run.spectrum(weights)
        if step in (6000, 12000):
            run.landscape(weights, is_line=step == 6000, trajectory=weights["averaging"] is None)
    run.training = {"constant.jsonl": _log(2500), "decay6.jsonl": _log(1800, 1200), "decay12.jsonl": _log(2600, 2400)}
    return run


def two_texts():
    """The demo, of which a part was measured before the block of its metric was changed."""
    run = demo(draws=1, jitter=0)
    for record in run.records:
        block = 64 if record["checkpoint"]["step"] <= 6000 else 128
        record["parts"] = {**record["parts"], "metric": {"id": "validation_loss", "params": {"block": block}}}
        record["key"] = hashlib.sha256(_canonical(record["parts"])).hexdigest()
    return run


def _log(steps, fork=None):
    """The rows of a training; a fork has those of its parent and decays."""
    return [{"step": i, "tokens": 2048 * i, "lr": 0.003 * (1 if fork is None or i <= fork else (steps - i) / (steps - fork)),
             "loss": None if i == 40 else 3 + 30 / (i + 9) + 0.1 * _noise(i, fork is not None and i > fork)}
            for i in range(1, steps + 1)]


FIGURES = [
    {"error_vs_tokens": {"lines": "branch", "panels": "bits", "right": "lr"}},
    {"error_vs_tokens": {"name": "delta", "y": "delta", "x": "step", "spread": "draws", "right": "hessian/trace"}},
    {"error_vs_tokens": {"name": "jitter", "spread": "jitter", "lines": [], "panels": ["quantizer", "bits"]}},
    {"error_vs_tokens": {"name": "seeds", "spread": "seeds", "x": "position", "lines": ["branch", "label"]}},
    {"error_vs_tokens": {"name": "none", "spread": "none", "where": {"bits": 3, "averaging": ["none", "lawa"]}}},
    "loss_vs_tokens",
    {"loss_vs_tokens": {"name": "loss_of_trunk", "right": "lr", "where": {"branch": ["constant", "trunk"]}}},
    "loss_plane",
    {"loss_plane": {"name": "whole_plane", "range": "all", "panels": [], "where": {"quantizer": "gptq"}}},
    "accuracy_vs_loss",
    {"loss_vs_bytes": {"lines": "branch"}},
    {"loss_vs_bytes": {"name": "all_bytes", "at": "all", "panels": "branch"}},
    "bars",
    {"bars": {"name": "all_bars", "y": "error", "at": "all", "spread": "items"}},
    {"bars": {"name": "first_bars", "at": "first", "spread": "none", "panels": [], "lines": ["branch", "bits"]}},
    "contour",
    "spectrum",
    {"spectrum": {"name": "all_spectra", "at": "all", "panels": "branch", "lines": "step"}},
    "training_loss",
    {"training_loss": {"name": "over_steps", "x": "step"}},
]


def quickstart():
    """With the names and checkpoints of configs/quickstart.yaml."""
    run = MadeRun(items=60, model="train")
    lines = [run.weights("constant", step, 0.008) for step in range(150, 1201, 150)]
    lines += [run.weights("constant", step, 0.008, averaging="lawa", members=["step%d" % (step - 50 * i) for i in range(5)])
              for step in range(300, 1201, 150)]
    for branch, end, steps, every in (("early", 600, 150, 50), ("late", 1200, 300, 75)):
        lines += [run.weights(branch, end - steps + i, 0.008 * (1 - i / steps), i / steps, parent="constant")
                  for i in range(every, steps + 1, every)]
    for weights in lines:
        run.loss(weights)
        for method in ("rtn", "gptq"):
            for bits in (3, 4):
                run.loss(weights, method, bits)
    return run


SEED_CONTRASTS = [
    {"a": "gptq", "b": "rtn"},
    {"a": "gptq", "b": "rtn", "at": "last"},
    {"a": {"sweep.train.lr.peak": 0.001}, "b": {"sweep.train.lr.peak": 0.003}},
    {"a": {"sweep.train.lr.peak": 0.001, "as": "small"}, "b": {"sweep.train.lr.peak": 0.003, "as": "large"},
     "at": "equal_loss", "within": 1},
    {"a": {"sweep.train.optimizer.sam.rho": 0.1, "as": "sam"},
     "b": {"sweep.train.optimizer.adamw.weight_decay": 0.1, "as": "adamw"}},
    {"a": "gptq", "b": "rtn", "statistic": "last_minus_first"},
    {"a": "rtn", "b": "gptq", "statistic": "slope_ratio", "over": "step"},
    {"a": "gptq", "statistic": "rank_correlation", "over": "step"},
    {"a": "gptq damp=0.1", "b": "gptq damp=0.01"},
    {"a": "gptq bits=3", "b": "rtn bits=3"},
    {"a": "accuracy", "b": "rtn", "of": "accuracy"},
    {"a": "gptq", "b": "rtn", "of": "accuracy"},
    {"a": "trunk", "b": "rtn"},
]


def sweep(seeds=3, both=False):
    """Trainings that differ in their peak, their optimizer and their seed; two corpora and a task."""
    run, job = MadeRun(items=30), 0
    for optimizer in ({"adamw": {"weight_decay": 0.1}}, {"sam": {"rho": 0.1}}):
        for peak in (0.001, 0.003):
            for seed in range(seeds):
                point = {"train.lr": {"peak": peak}, "train.optimizer": optimizer, "train.seed": seed}
                if both:
                    point["seed"] = 7 + seed % 2
                for step in (500, 1000, 1500, 2000):
                    weights = run.weights("trunk", step, lr=peak, sweep=point, job=job)
                    for label in ("validation_loss", "code"):
                        run.loss(weights, label=label)
                        for bits in (3, 4):
                            run.loss(weights, "rtn", bits, label=label)
                            for damp in (0.01, 0.1):
                                for draw in range(2 if step == 2000 else 1):
                                    run.loss(weights, "gptq", bits, draw, label=label, damp=damp)
                    quantizer = run.records[-1]["quantizer"]
                    for method in (None, quantizer, {**quantizer, "id": "rtn", "label": "rtn bits=4", "calibration": None}):
                        right = [float(_noise(i, step, seed, method and method["id"]) > -0.5) for i in range(80)]
                        run.value(weights, "tasks/accuracy", sum(right) / 80, right, "accuracy", "accuracy", 1, method)
                job += 1
    return run
