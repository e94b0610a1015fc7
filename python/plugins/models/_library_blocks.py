"""A decoder block of the Transformers library, cut into stages at the inputs of its linears.

The library's own code computes everything. What a stage needs of it is found by one traced run: which linears a block
has, in which order they are called, and which of them are handed the same tensor. A stage then runs the block with some
of its modules standing in: one that reads a carried tensor, one that gives a carried tensor, or one that ends the
forward with the tensor it was handed.

Shapes: B rows of T tokens, residual stream [B, T, width].
"""

import contextlib

import torch
from torch import nn

import quench


class Reached(Exception):
    """Ends a forward where the tensor that is wanted exists."""

    def __init__(self, tensor):
        super().__init__("a forward was ended on purpose")
        self.tensor = tensor


def first(args, kwargs):
    """The tensor that a module of the library computes from."""
    return args[0] if args else kwargs.get("hidden_states")


def with_first(args, kwargs, tensor):
    return ((tensor, *args[1:]), kwargs) if args else ((), {**kwargs, "hidden_states": tensor})


def ending(*args, **kwargs):
    raise Reached(first(args, kwargs))


def reading(module, x):
    """The module's own forward, from `x` instead of what it is handed."""
    own = module.forward

    def forward(*args, **kwargs):
        args, kwargs = with_first(args, kwargs, x)
        return own(*args, **kwargs)

    return forward


def main_tensor(output):
    return output[0] if isinstance(output, tuple) else output


def resembling(output):
    """A function that packs a tensor as the library packed `output`."""
    if not isinstance(output, tuple):
        return lambda tensor: tensor
    empty = (None,) * (len(output) - 1)
    return lambda tensor: (tensor, *empty)


@contextlib.contextmanager
def standing_in(*pairs):
    """While it lasts each module of the pairs (module, forward) computes `forward`."""
    before = [(module, module.__dict__.get("forward")) for module, _ in pairs]
    try:
        for module, forward in pairs:
            module.forward = forward
        yield
    finally:
        for module, forward in before:
            if forward is not None:
                module.forward = forward
            elif "forward" in module.__dict__:
                del module.forward


class Call:
    """A call of a module inside a block."""

    def __init__(self, name, module, read, output):
        self.name, self.module, self.read, self.output = name, module, read, output


def traced(layer, args, kwargs):
    """The calls of a block's modules, in the order in which they end."""
    calls = []

    def hook(name):
        return lambda module, args, kwargs, output: calls.append(Call(name, module, first(args, kwargs), output))

    hooks = [module.register_forward_hook(hook(name), with_kwargs=True) for name, module in layer.named_modules()]
    try:
        layer(*args, **kwargs)
    finally:
        for one in hooks:
            one.remove()
    return calls


def refuse(what):
    raise quench.Error(quench.UNSUPPORTED, what)


def groups_of(name, layer, calls):
    """The calls of a block's linears, those that read the same tensor together."""
    groups = []
    for call in calls:
        if isinstance(call.module, nn.Linear):
            same = [group for group in groups if group[0].read is call.read]
            if same:
                same[0].append(call)
            else:
                groups.append([call])
    counts = {one: 0 for one, module in layer.named_modules() if isinstance(module, nn.Linear)}
    for group in groups:
        for call in group:
            counts[call.name] += 1
    for linear, count in counts.items():
        if count != 1:
            refuse("%s.%s: called %d times in a forward, wanted once" % (name, linear, count))
    tokens = main_tensor(calls[-1].output).shape[:-1]
    for call in (call for group in groups for call in group):
        if call.read.shape[:-1] != tokens:
            refuse("%s.%s: reads shape %s, wanted a row for each of the tokens %s"
                   % (name, call.name, list(call.read.shape), list(tokens)))
    return groups


class Half:
    """A submodule, attention or MLP: its first linears read what it is handed, and its last linear gives its result."""

    def __init__(self, call, last):
        self.module, self.last, self._packed = call.module, last, resembling(call.output)

    def giving(self, tensor):
        return self.module, lambda *args, **kwargs: self._packed(tensor)

    @staticmethod
    def of(calls, begin, end):
        """The direct child that holds exactly the linears of groups `begin` and `end`; None where there is none."""
        for call in calls:
            inside = {one.name for one in calls if isinstance(one.module, nn.Linear)
                      and one.name.startswith(call.name + ".")}
            if (call.name and "." not in call.name and len(end) == 1 and call.read is begin[0].read
                    and main_tensor(call.output) is end[0].output
                    and inside == {one.name for one in begin + end}):
                return Half(call, end[0].module)
        return None


class Block:
    """One block. `name` is its module's; args and kwargs are those of a call on a few tokens."""

    def __init__(self, name, layer, args, kwargs):
        self.name, self.layer = name, layer
        calls = traced(layer, args, kwargs)
        self.packed = resembling(calls[-1].output)
        traced_groups = groups_of(name, layer, calls)
        self.groups = [[(call.name, call.module) for call in group] for group in traced_groups]
        self.width = first(args, kwargs).shape[-1]
        self.halves = None
        if len(self.groups) == 4:
            halves = Half.of(calls, *traced_groups[:2]), Half.of(calls, *traced_groups[2:])
            self.halves = halves if None not in halves else None

    @property
    def stages(self):
        return len(self.groups) + 1

    def carried(self, stage):
        """Names and widths of the tensors that enter a stage."""
        tensors = [("h", self.width)]
        if 0 < stage < self.stages:
            tensors.append(("x", self.groups[stage - 1][0][1].in_features))
        if self.halves and stage in (3, 4):
            tensors.append(("attention", self.width))
        return tensors

    def stage(self, stage, tensors, args, kwargs):
        """The tensors that leave a stage; `tensors` entered it, args and kwargs are the block's but for the stream."""
        args, kwargs = with_first(args, kwargs, tensors[0])
        return (self._cut if self.halves else self._again)(stage, tensors, args, kwargs)

    def _run(self, args, kwargs, *pairs):
        with standing_in(*pairs):
            try:
                return main_tensor(self.layer(*args, **kwargs))
            except Reached as reached:
                return reached.tensor

    def _cut(self, stage, tensors, args, kwargs):
        """Attention and MLP are computed once each; the block around them adds and normalizes their results anew."""
        attention, mlp = self.halves
        h = tensors[0]
        if stage == 0:
            return [h, self._run(args, kwargs, (attention.module, ending))]
        x = tensors[1]
        if stage == 1:
            reads = (attention.module, reading(attention.module, x))
            return [h, self._run(args, kwargs, reads, (attention.last, ending))]
        attended = attention.last(x) if stage == 2 else tensors[2]
        gives = attention.giving(attended)
        if stage == 2:
            return [h, self._run(args, kwargs, gives, (mlp.module, ending)), attended]
        if stage == 3:
            reads = (mlp.module, reading(mlp.module, x))
            return [h, self._run(args, kwargs, gives, reads, (mlp.last, ending)), attended]
        return [self._run(args, kwargs, gives, mlp.giving(mlp.last(x)))]

    def _again(self, stage, tensors, args, kwargs):
        """The block from its beginning up to the next group's input; the last group's linears read what was carried."""
        pairs = []
        if stage > 0:
            pairs = [(linear, reading(linear, tensors[1])) for _, linear in self.groups[stage - 1]]
        if stage == len(self.groups):
            return [self._run(args, kwargs, *pairs)]
        return [tensors[0], self._run(args, kwargs, *pairs, (self.groups[stage][0][1], ending))]


def own_tensors(layer):
    """Refuses a block with matrices that belong to no linear: they would be passed over silently."""
    for name, module in layer.named_modules():
        for parameter, value in module.named_parameters(recurse=False):
            if value.dim() > 1 and not isinstance(module, nn.Linear):
                refuse("%s.%s of a %s: a weight of shape %s that is no linear's"
                       % (name, parameter, type(module).__name__, list(value.shape)))


def same(a, b, tolerance):
    """Whether two results agree to `tolerance` of the largest value."""
    return torch.allclose(a, b, rtol=0, atol=tolerance * float(b.abs().nan_to_num().max()), equal_nan=True)
