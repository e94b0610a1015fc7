"""What tables and figures call the points of a sweep."""

from ..values import canonical
from .dimensions import ordered, value_text


def point_names(points):
    """{canonical point: what tells it from the others}: "peak 0.001", "decay_steps 200, muon".

    Values that all points have are left out; where points choose another plugin each, its name stands for what it is given.
    "job 3" of a record without a sweep.
    """
    distinct = {canonical(point): point for point in points}
    keys = sorted(distinct, key=lambda key: ordered(distinct[key]))
    values = [(i, distinct[key]) for i, key in enumerate(keys)]
    for whole in (False, True):  # else by whole paths, if two values go by one word
        words = [[] for _ in keys]
        if all(isinstance(point, dict) for _, point in values):
            _compare("", values, True, whole, words)
        texts = [", ".join(own) or ("" if isinstance(point, dict) else "job " + value_text(point))
                 for own, (_, point) in zip(words, values)]
        if len(set(texts)) == len(texts):
            break
    return dict(zip(keys, texts)) if keys else {}


def _compare(path, values, by_all, whole, words):
    """`by_all`: whether all points that are compared have a value here."""
    if by_all and all(value == values[0][1] for _, value in values):
        return
    apart = all(isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict)
                for _, value in values) and len({next(iter(value)) for _, value in values}) > 1
    if apart:  # plugins that are chosen by name, each with its parameters among its own points
        for i, value in values:
            words[i].append(next(iter(value)))
    if all(isinstance(value, dict) and value for _, value in values):
        members = {}
        for i, value in values:
            for name, inner in value.items():
                members.setdefault(name, []).append((i, inner))
        for name, of_member in sorted(members.items()):
            _compare(path + "." + name if path else name, of_member, apart or len(of_member) == len(values), whole, words)
        return
    name = path if whole else path.rpartition(".")[2]
    for i, value in values:
        words[i].append(name + " " + value_text(value))


