"""Observations of several texts under one label: named, so that they are neither compared nor averaged."""

from ..metric_text import TextNames, metric_text


def tell_apart(observations):
    """Sets `text` of observations whose label has values of several texts: "block 128, text 1a2b3c4d"; returns notes."""
    names, texts = TextNames(), []
    for it in observations:
        group, text = it.record["label"] or it.record["metric"], metric_text(it.record)
        texts.append((group, text))
        names.add(group, text, it.record["details"])
    counts = {}
    for it, (group, text) in zip(observations, texts):
        words = names.words(group, text)
        if words:
            it.text = words
            of_group = counts.setdefault(group, {})
            of_group[words] = of_group.get(words, 0) + 1
    return ["%s has values of several texts, which are neither compared nor averaged: %s." % (
        group, ", ".join("%d of %s" % (count, words) for words, count in sorted(of.items())))
        for group, of in sorted(counts.items())]
