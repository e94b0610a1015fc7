"""What a metric measured on. Values of different texts are never paired or averaged, whatever their label."""

import hashlib

from .dimensions import canonical, member, value_text

_SHORT_HASH = 8


def metric_text(record):
    """Parameters and contents that the metric read, beside the names that a manifest has for them; None if not known."""
    metric, details = member(record.get("parts"), "metric"), record["details"]
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


def tell_apart(observations):
    """Sets `text` of observations whose label has values of several texts: "block 128, text 1a2b3c4d"; returns notes."""
    groups, names = {}, {}  # label: parameter: contents; (parameter, content): name of the corpus
    texts = {}
    for it in observations:
        group, text = it.record["label"] or it.record["metric"], metric_text(it.record)
        texts[id(it)] = group, text
        for name, value in _items(text).items():
            key = canonical(value)
            groups.setdefault(group, {}).setdefault(name, {}).setdefault(key, value)
            called = member(member(member(it.record["details"], "corpora"), name), "name")
            if isinstance(called, str):
                names.setdefault((name, key), called)
    counts, made = {}, {}
    for it in observations:
        group, text = texts[id(it)]
        differing = [name for name, contents in sorted(groups.get(group, {}).items()) if len(contents) > 1]
        if differing:
            key = group, canonical(text)
            made[key] = made[key] if key in made else _words(text, differing, groups[group], names)
            it.text = made[key]
            if it.text:
                of_group = counts.setdefault(group, {})
                of_group[it.text] = of_group.get(it.text, 0) + 1
    return ["%s has values of several texts, which are neither compared nor averaged: %s." % (
        group, ", ".join("%d of %s" % (count, words) for words, count in sorted(of.items())))
        for group, of in sorted(counts.items())]


def _words(text, differing, known, names):
    words, items = [], _items(text)
    for name in (name for name in differing if name in items):
        value = items[name]
        if name in (member(text, "params") or {}):
            words.append(name + " " + value_text(value))
            continue
        called = names.get((name, canonical(value)), "")
        shared = not called or any(other != canonical(value) and names.get((name, other), "") == called for other in known[name])
        words.append(called + (" " if called and shared else "") + (_short_hash(value) if shared else ""))
    return ", ".join(words)


def _short_hash(content):
    for name in ("files", "fingerprint"):
        if isinstance(member(content, name), str):
            return content[name][:_SHORT_HASH]
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:_SHORT_HASH]
