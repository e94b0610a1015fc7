"""What was asked of the same two models before: more text until it decides makes a wrong `within` likelier than 5 %.

A look is one verdict on one text. `gates.jsonl` in QUENCH_HOME has a line for each. Looks that are planned from the first one on
(--looks) share the 5 % among them; further ones are refused.
"""

import fcntl
import hashlib
import json
import os
import time

from ..metric_text import metric_text
from ..status import INVALID_ARGUMENT, Error
from ..values import canonical, member, members

FILE = "gates.jsonl"


def _files(path):
    """Names, sizes and times of the files of a model."""
    if os.path.isdir(path):
        entries = sorted((entry for entry in os.scandir(path) if entry.is_file()), key=lambda entry: entry.name)
        return [[entry.name, entry.stat().st_size, entry.stat().st_mtime_ns] for entry in entries]
    found = os.stat(path) if os.path.exists(path) else None
    return found and [found.st_size, found.st_mtime_ns]


def _model(record):
    checkpoint = record["checkpoint"]
    name = checkpoint["model"]
    return [os.path.realpath(name) if os.path.exists(name) else name, checkpoint["revision"], checkpoint["commit"],
            _files(name), members(record["quantizer"], "id", "params", "calibration")]


def question_of(floating, quantized, budget):
    """A hash of what is asked: of which models, by which metric, for which budget; not on which text."""
    text = metric_text(floating) or {}
    settings = {name: value for name, value in (member(text, "params") or {}).items()
                if name not in ("corpus", "limit", "data", "files")}
    asked = [_model(floating), _model(quantized), floating["metric"], settings, budget]
    return hashlib.sha256(canonical(asked).encode()).hexdigest()


def text_of(floating):
    return hashlib.sha256(canonical([metric_text(floating), len(floating["items"])]).encode()).hexdigest()


def _lines(path):
    out = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    look = json.loads(line)
                except ValueError:  # a writer was killed
                    continue
                if isinstance(look, dict) and {"question", "text", "verdict", "looks", "time"} <= look.keys():
                    out.append(look)
    except FileNotFoundError:
        pass
    return out


class Looks:
    """Earlier looks at one question."""

    def __init__(self, home, question, text, planned):
        self.path = os.path.join(home, FILE)
        self.question, self.text, self.planned = question, text, planned
        earlier = [look for look in _lines(self.path) if look["question"] == question]
        self.number = 1
        if not earlier or any(look["text"] == text and look["looks"] == planned for look in earlier):
            return
        if earlier[-1]["verdict"] == "within":
            return
        texts = []
        for look in earlier:
            texts += [look["text"]] if look["text"] not in texts else []
        first, last = earlier[0], earlier[-1]
        if text not in texts:
            self.number = len(texts) + 1
        if planned != first["looks"] or self.number > planned:
            raise Error(INVALID_ARGUMENT, "--looks: these models and this budget were %s on %s, with %d planned look%s; got "
                        "another text, wanted the same one: more text until it decides makes a wrong `within` likelier (plan "
                        "with --looks from the first look on, or ask for another budget)"
                        % (last["verdict"], last["time"][:10], first["looks"], "" if first["looks"] == 1 else "s"))

    def keep(self, verdict):
        """Raises OSError."""
        line = json.dumps({"question": self.question, "text": self.text, "verdict": verdict, "looks": self.planned,
                           "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}) + "\n"
        with open(self.path, "a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(line)
