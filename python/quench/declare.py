"""What a plugin's author writes: decorators that mark plugins, and the values that they return.

The decorators change nothing: what they are given is read from the file's text (quench.describe), so that a plugin
can be listed where the libraries it imports are missing. A marked function can be called like any other.
"""

import math

from .abi import constant


def _marking(*given, **_):
    if len(given) == 1 and callable(given[0]):  # without parentheses
        return given[0]
    if given:
        raise TypeError("a plugin's parameters are given by name: bits=4")
    return lambda marked: marked


def quantizer(*given, **parameters):
    """Marks a quantizer: a function of `weight`, or a class with `quantize(self, linear)`."""
    return _marking(*given, **parameters)


def metric(*given, **parameters):
    """Marks a metric: a function of `model`, or a class with `evaluate(self, ...)`."""
    return _marking(*given, **parameters)


def averaging(*given, **parameters):
    """Marks an averaging scheme: a function of `members` that returns weights, or a class."""
    return _marking(*given, **parameters)


def model(*given, **parameters):
    """Marks a model family: a class."""
    return _marking(*given, **parameters)


LOWER_IS_BETTER = constant("LOWER_IS_BETTER")
NO_DIRECTION = constant("NO_DIRECTION")
HIGHER_IS_BETTER = constant("HIGHER_IS_BETTER")


class Quantized:
    """What quantizing one weight gave.

    weight: [out, in], the dequantized weight. bits_per_weight counts codes, scales, zeros and order.
    codes [out, in] (0..255), scales and zeros [out, groups], g_idx [in] (group of each column) and perm [in] (perm[k]:
    the column that was quantized k-th) are kept where they are given: weight = scales[:, g_idx] * (codes - zeros[:, g_idx]).
    indices [out, in] and table [entries] or [out, entries] are kept instead of codes and zeros where a weight is looked up:
    weight = scales * table[indices]; scales [out, groups] are floats, or uint8 for powers of two, 2^(scale - 127).
    tensors, numbers and texts: further results by name, for the record.
    """

    def __init__(self, weight, bits_per_weight=None, codes=None, scales=None, zeros=None, g_idx=None, perm=None,
                 tensors=None, numbers=None, texts=None, indices=None, table=None):
        self.weight, self.bits_per_weight = weight, bits_per_weight
        self.codes, self.scales, self.zeros, self.g_idx, self.perm = codes, scales, zeros, g_idx, perm
        self.indices, self.table = indices, table
        self.tensors, self.numbers, self.texts = dict(tensors or {}), dict(numbers or {}), dict(texts or {})


class Value:
    """What a metric measured: a number, its unit, which direction is better, and its standard error.

    items: one number per block, question or document, for paired comparisons; where `value` is their mean and no `stderr` is
    given, it is that of the mean. details: numbers or JSON for the record.
    """

    def __init__(self, value, unit, direction=NO_DIRECTION, stderr=None, items=None, details=None):
        self.value, self.unit, self.direction, self.stderr = value, unit, direction, stderr
        self.items, self.details = items, dict(details or {})
        if stderr is None and items is not None:
            self.stderr = _stderr_of_mean(value, [float(item) for item in items])


def _stderr_of_mean(value, items):
    """None where the value is not the mean of the items: its error has another unit, or another rule."""
    n = len(items)
    mean = math.fsum(items) / n if n > 1 and all(map(math.isfinite, items)) else math.nan
    if not math.isclose(float(value), mean, rel_tol=1e-6):
        return None
    return math.sqrt(math.fsum((item - mean) ** 2 for item in items) / (n - 1) / n)


class Tensor:
    """One trainable tensor of a model: role is matrix, embedding, head, norm, bias or other."""

    def __init__(self, name, shape, role="matrix", aliases=()):
        self.name, self.shape, self.role, self.aliases = name, tuple(int(n) for n in shape), role, tuple(aliases)


class Linear:
    """A linear of a block: its module's name, its role ("q", "up", ...), the names of its weight and bias, its shape."""

    def __init__(self, name, role, out_features, in_features, weight=None, bias=None):
        self.name, self.role, self.weight, self.bias = name, role, weight or name + ".weight", bias
        self.out_features, self.in_features = int(out_features), int(in_features)


class Group:
    """Linears that read the same input, which exists after `stage`; `input` is its place among the carried tensors.

    sites: names of tensors that absorb a scale of the input's channels.
    """

    def __init__(self, linears, stage, input=1, sites=()):
        self.linears, self.stage, self.input, self.sites = list(linears), stage, input, tuple(sites)


class Block:
    """A decoder block: its groups, in the order of the forward; one stage more than the groups unless said."""

    def __init__(self, groups, stages=None):
        self.groups = list(groups)
        self.stages = len(self.groups) + 1 if stages is None else stages


class Carry:
    """A tensor between two stages: [rows, width]."""

    def __init__(self, name, width):
        self.name, self.width = name, int(width)
