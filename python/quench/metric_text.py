"""What a metric measured on. Values of different texts are never paired or averaged, whatever their label."""

import hashlib

from .values import canonical, member

_SHORT_HASH = 8


def metric_text(record):
    """Parameters and contents that the metric read, beside the names that a manifest has for them; None if not known."""
    metric, details = member(record["parts"], "metric"), record["details"]
    out = {name: metric[name] for name in ("params", "corpora", "data", "files") if member(metric, name) is not None}
    if out:
        return out
    corpora = member(details, "corpora")
    params = {name: value for name, value in (member(details, "params") or {}).items() if member(corpora, name) is None}
    return {**({"params": params} if params else {}), **({"corpora": corpora} if corpora is not None else {})} or None


def _items(text):
    """Parameters and contents under one set of names: {"block": 128, "corpus": {...}}."""
    out = {**(member(text, "params") or {}), **(member(text, "corpora") or {})}
    out.update({part: text[part] for part in ("data", "files") if member(text, part) is not None})
    return out


def _is_parameter(text, name):
    return name in (member(text, "params") or {})


class TextNames:
    """Tells the texts of one group (of values that stand side by side) apart in words."""

    def __init__(self):
        self._groups = {}  # group: parameter: canonical contents
        self._names = {}  # (parameter, canonical content): name of the corpus

    def add(self, group, text, details):
        """`details` name the corpora; only the first value of an evaluation has them."""
        for name, value in _items(text).items():
            content = canonical(value)
            self._groups.setdefault(group, {}).setdefault(name, set()).add(content)
            called = member(member(member(details, "corpora"), name), "name")
            if isinstance(called, str) and called:
                self._names.setdefault((name, content), called)

    def differing(self, group):
        """The parameters in which the texts of a group differ, in order."""
        return [name for name, contents in sorted(self._groups.get(group, {}).items()) if len(contents) > 1]

    def all_differing(self):
        return sorted({name for group in self._groups for name in self.differing(group)})

    def value(self, group, text, name):
        """What stands for the parameter in this text: "128", or the name of a corpus, and the beginning of its hash where
        several contents of the group have that name. "" if the text has none."""
        value = _items(text).get(name)
        if value is None:
            return ""
        if _is_parameter(text, name):
            return value if isinstance(value, str) else canonical(value)
        content = canonical(value)
        called = self._names.get((name, content), "")
        if called and all(other == content or self._names.get((name, other)) != called
                          for other in self._groups.get(group, {}).get(name, ())):
            return called
        return called + (" " if called else "") + _short_hash(value)

    def words(self, group, text):
        """"block 128, text 1a2b3c4d", or "" where the group has one text."""
        values = [(name, self.value(group, text, name)) for name in self.differing(group)]
        return ", ".join(name + " " + value if _is_parameter(text, name) else value for name, value in values if value)


def _short_hash(content):
    """The first digits of the hash of what was read."""
    for name in ("files", "fingerprint"):
        if isinstance(member(content, name), str):
            return content[name][:_SHORT_HASH]
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:_SHORT_HASH]


def text_difference(before, after):
    """How the texts of two records of one cell differ, "" where they do not or are not known."""
    text = metric_text(after)
    if text is None:
        return ""
    return CurrentTexts([{"jobs": [before["job"]], "metric": before["metric"].partition("/")[0],
                          "text": text}]).difference(before)


class CurrentTexts:
    """The texts that the manifest of a run measures on now, as its run.json lists them."""

    def __init__(self, texts):
        self._texts = {}  # (job, metric): texts
        for each in texts if isinstance(texts, list) else ():
            for job in member(each, "jobs") or ():
                self._texts.setdefault((job, member(each, "metric")), []).append(member(each, "text"))

    def _of(self, record):
        """Those of the record's metric, or of the metric that a further value belongs to."""
        return self._texts.get((record["job"], record["metric"].partition("/")[0]), [])

    def is_other(self, record):
        """Whether the record's metric has texts in its job, and its own is none of them."""
        text, known = metric_text(record), self._of(record)
        return bool(known) and text is not None and text not in known

    def difference(self, record):
        """How the record's text differs from the nearest one: "another corpus `text` (1a2b3c4d, now 5e6f7a8b)", "another
        block (64, now 128)"."""
        text, nearest = metric_text(record), []
        was = _items(text)
        for current in self._of(record):
            now, words = _items(current), []
            for name in sorted(set(was) | set(now)):
                before, after = was.get(name), now.get(name)
                if before == after:
                    continue
                if _is_parameter(text, name):
                    words.append("another %s (%s, now %s)" % (name, canonical(before), canonical(after)))
                else:
                    called = member(member(member(record["details"], "corpora"), name), "name")
                    words.append("another %s%s (%s, now %s)" % (name, " `%s`" % called if isinstance(called, str) and called else "",
                                                                _short_hash(before), _short_hash(after)))
            if words and (not nearest or len(words) < len(nearest)):
                nearest = words
        return " and ".join(nearest)
