"""What a reader should know before trusting a number: fallbacks, damaged files, conflicts, unchecked inputs, earlier texts."""

import os

from ..analysis.dimensions import value_text
from ..texts import printable
from ..values import is_number, member

_SIGNS = ("retries", "dead", "fallback", "fallbacks", "warning")
_MOST_OF_A_WAY = 400  # bytes


def health_of(run):
    """Sentences about a quench.analysis.run.Run."""
    out = [_sign_text(what, layers) for what, layers in sorted(_signs(run.observations).items())]
    out += run.pairing_notes
    out += unchecked_values(run.records)
    out += ["%s:%d: does not count: %s." % (os.path.basename(path), line, reason) for path, line, reason in run.damaged]
    if run.conflicts:
        out.append("%d keys hold different values in two attempts; the first counts: %s." % (
            len(run.conflicts), ", ".join(run.conflicts)))
    return out


def _signs(observations):
    """{"gptq bits=3: retries": [(record, layer, value)]} of what quantizers say about layers."""
    out = {}
    for it in observations:
        for layer in member(it.record["details"], "layers") or ():
            for name in _SIGNS:
                value = member(layer, name)
                if (is_number(value) and value > 0) or (isinstance(value, str) and value):
                    out.setdefault(value_text(it["label"]) + ": " + name, []).append((it.record, layer, value))
    return out


def _sign_text(what, layers):
    texts = [value for *_, value in layers if isinstance(value, str)]
    rest = ": " + texts[-1] if texts else ", at most %g" % max(value for *_, value in layers)
    return "%s in %d layers of %d cells%s (first: %s)." % (
        what, len(layers), len({id(record) for record, *_ in layers}), rest, value_text(member(layers[0][1], "name")))


def unchecked_values(records):
    """How many values have a plugin that opened files by itself."""
    count = sum(record["index"] == 0 and not record["error"] and member(record["details"], "inputs") == "unchecked" for record in records)
    return ["%s `inputs: unchecked`: a plugin opened its files by itself, so no key holds what was read." % (
        "1 value has" if count == 1 else "%d values have" % count)] if count else []


def earlier_values(texts, records):
    """How many values were measured before the manifest named another corpus or another block, and how their text differs."""
    ways = {}
    for record in records:
        if record["index"] == 0 and not record["error"] and texts.is_other(record):
            way = "%s with %s" % (record["metric"], texts.difference(record))
            ways[way] = ways.get(way, 0) + 1
    return ["%s of %s from before that was changed." % ("1 value" if count == 1 else "%d values" % count,
                                                        printable(way, _MOST_OF_A_WAY)) for way, count in sorted(ways.items())]
