"""How arguments and results cross: values of the description's types, to and from the bodies of messages.

In Python a struct is a Struct, an array of numbers a numpy array of its own, a tensor a read-only view (of a call's
arguments) or a copy (of a reply), a tensor to be written an arrays.Output, an interface or table of the host a Remote,
an object of the host its number, and NULL None.
"""

from types import SimpleNamespace

import numpy

from . import abi, arrays
from .channel import broken


class Struct(SimpleNamespace):
    """The members of a struct of the interface."""


class Remote:
    """A table or interface that the host serves."""

    def __init__(self, peer, group, target, mask, fields):
        self._peer, self._group, self.target, self._mask = peer, group, target, mask
        self.fields = fields
        self.handed = []  # (array, dtype) of the outputs that are filled until the outer call returns

    def has(self, name):
        return bool(self._mask >> self._group.by_name[name].number & 1)

    def call(self, name, /, **arguments):
        """The function's result: its only output, a Struct of several, or what it returns. Raises quench.Error."""
        return self._peer.call(self._group, self.target, name, arguments, self)


def _has_outputs(description, kind):
    if kind.kind != "struct" or kind.direction != "in":
        return False
    return any(field.type.direction in ("out", "inout", "optional") or _has_outputs(description, field.type)
               for field in description.structs[kind.name])


class Incoming:
    """Reads the values of a message."""

    def __init__(self, peer, reader, lease=None):
        self._peer, self._reader, self._lease = peer, reader, lease
        self.numbers = {}  # of the objects among the arguments
        self.handing = []  # interfaces that hand out memory during the call

    def values(self, members, whole=False):
        """What a caller sends of these parameters or members; with `whole`, of a struct that the callee filled."""
        lent = {member.type.of for member in members if member.type.kind == "table"}
        out = Struct()
        for member in members:
            kind = member.type
            if kind.silent:
                continue
            if kind.kind == "object" and kind.direction == "in":
                number = self._reader.u64()
                self.numbers[member.name] = number
                setattr(out, member.name, number if member.name in lent else self._peer.exports.object(number))
            elif kind.direction in ("in", "inout") or whole:
                setattr(out, member.name, self.value(kind))
            elif kind.direction == "optional":
                setattr(out, member.name, self._reader.u64() != 0)
            elif kind.direction == "out" and kind.kind == "tensor":
                setattr(out, member.name, self._shapes() if kind.count is not None else self._shape())
        return out

    def value(self, kind):
        """One value that is there as a whole, whatever its direction."""
        reader = self._reader
        if kind.kind in abi.NUMBERS and kind.count is None:
            return reader.f64() if kind.kind == "f64" else reader.i64() if kind.kind[0] == "i" else reader.u64()
        if kind.kind in abi.NUMBERS:
            data = reader.blob()
            return None if data is None else numpy.frombuffer(data, abi.NUMBERS[kind.kind]).copy()
        if kind.kind in ("bytes", "elements"):
            return reader.data()
        if kind.kind == "dtype":
            return arrays.DType.unpack(reader.u64())
        if kind.kind == "device":
            return (reader.i64(), reader.i64())
        if kind.count is not None:
            one = {"string": reader.text, "tensor": self.tensor,
                   "struct": lambda: self.values(self._peer.description.structs[kind.name], whole=kind.direction != "in")}
            count = reader.u64()
            return None if count == 0 else [one[kind.kind]() for _ in range(count - 1)]
        if kind.kind == "string":
            return reader.text()
        if kind.kind == "tensor":
            return self.tensor()
        if kind.kind == "struct":
            members = self._peer.description.structs[kind.name]
            return self.values(members, whole=kind.direction != "in") if reader.u64() else None
        if kind.kind == "interface":
            remote = self._remote(self._peer.description.interfaces[kind.name])
            if remote is not None and kind.life == "call":
                self.handing.append(remote)
            return remote
        if kind.kind == "table":
            return self._remote(self._peer.description.tables[kind.name])
        raise broken("there are no values of type %s" % kind.text)

    def _remote(self, group):
        target = self._reader.u64()
        if target == 0:
            return None
        mask = self._reader.u64()
        return Remote(self._peer, group, target, mask, self.values(group.fields))

    def _shape(self):
        if self._reader.u64() == 0:
            return None
        dtype = arrays.DType.unpack(self._reader.u64())
        if self._reader.i64() != 1:
            raise broken("a tensor does not lie in host memory")
        self._reader.i64()
        count = self._reader.u64()
        if count > 8:
            raise broken("a tensor has %d dimensions" % count)
        return arrays.Output(dtype, tuple(self._reader.i64() for _ in range(count)))

    def _shapes(self):
        count = self._reader.u64()
        return None if count == 0 else [self._shape() for _ in range(count - 1)]

    def tensor(self):
        shape = self._shape()
        return None if shape is None else self.elements(shape)

    def elements(self, output):
        """The elements of a tensor whose type and shape are known."""
        memory = self._reader.blob()
        size = output.dtype.bytes
        for length in output.shape:
            size *= length
        if memory is None or memory.nbytes != size:
            raise broken("a tensor has more or fewer elements than its shape")
        if self._lease is not None:
            return self._lease.view(memory, output.dtype, output.shape)
        return arrays.read(memory, output.dtype, output.shape).copy()

    def outputs(self, function, arguments, remote):
        """What a call of the host gave: by name, in the order of the parameters."""
        out = {}
        self._outputs(function.parameters, arguments, out, remote)
        return out

    def _outputs(self, members, arguments, out, remote):
        reader = self._reader
        for member in members:
            kind, name = member.type, member.name
            given = arguments.get(name) if isinstance(arguments, dict) else getattr(arguments, name, None)
            if kind.direction == "in":
                if _has_outputs(self._peer.description, kind) and given is not None:
                    self._outputs(self._peer.description.structs[kind.name], given, out, remote)
            elif kind.direction == "deferred":
                array = numpy.zeros(tuple(int(n) for n in arguments["shape"]), arrays.numpy_dtype(arguments["dtype"]))
                remote.handed.append((array, arguments["dtype"]))
                out[name] = array
            elif kind.kind == "tensor" and kind.direction in ("out", "inout"):
                if kind.count is not None:
                    out[name] = [self.elements(one) for one in given or ()]
                elif given is not None:
                    output = given if isinstance(given, arrays.Output) else \
                        arrays.Output(arrays.dtype_of(given), given.shape)
                    out[name] = self.elements(output)
            elif kind.kind == "object":
                out[name] = reader.u64()
            elif kind.kind == "struct" and kind.count is None and kind.direction == "out":
                out[name] = self.values(self._peer.description.structs[kind.name], whole=True)
            else:
                out[name] = self.value(kind)


class Outgoing:
    """Writes the values of a message."""

    def __init__(self, peer, writer):
        self._peer, self._writer = peer, writer
        self.owned = []  # interfaces that the host is to release

    def values(self, members, given, whole=False):
        for member in members:
            kind = member.type
            value = given.get(member.name) if isinstance(given, dict) else getattr(given, member.name, None)
            if kind.silent:
                continue
            if kind.direction in ("in", "inout") or whole:
                self.value(kind, value)
            elif kind.direction == "optional":
                self._writer.u64(1 if value else 0)
            elif kind.direction == "out" and kind.kind == "tensor":
                if kind.count is None:
                    self._shape(value)
                else:
                    self._writer.u64(0 if value is None else len(value) + 1)
                    for one in value or ():
                        self._shape(one)

    def value(self, kind, value):
        writer = self._writer
        if kind.kind in abi.NUMBERS and kind.count is None:
            if kind.kind == "f64":
                writer.f64(float(value))
            else:
                (writer.i64 if kind.kind[0] == "i" else writer.u64)(int(value or 0))
        elif kind.kind in abi.NUMBERS:
            writer.blob(None if value is None else numpy.ascontiguousarray(value, abi.NUMBERS[kind.kind]))
        elif kind.kind in ("bytes", "elements"):
            writer.blob(value)
        elif kind.kind == "dtype":
            writer.u64(value.packed())
        elif kind.kind == "device":
            for number in value or (1, 0):
                writer.i64(number)
        elif kind.count is not None:
            writer.u64(0 if value is None else len(value) + 1)
            for one in () if value is None else value:
                if kind.kind == "string":
                    writer.text(one)
                elif kind.kind == "tensor":
                    self._tensor(one)
                else:
                    self.values(self._peer.description.structs[kind.name], one, whole=kind.direction != "in")
        elif kind.kind == "string":
            writer.text(value)
        elif kind.kind == "tensor":
            self._tensor(value)
        elif kind.kind == "struct":
            writer.u64(0 if value is None else 1)
            if value is not None:
                self.values(self._peer.description.structs[kind.name], value, whole=kind.direction != "in")
        elif kind.kind == "object":
            writer.u64(value or 0)
        elif kind.kind == "interface":
            self._interface(kind, value)
        else:
            raise TypeError("values of type %s are not sent" % kind.text)

    def _interface(self, kind, value):
        if value is None:
            self._writer.u64(0)
            return
        number = self._peer.exports.add_table(self._peer.description.interfaces[kind.name], value)
        self.owned.append(number)
        self.table(self._peer.description.interfaces[kind.name], value, number)

    def table(self, group, implementation, number):
        """A table or interface of this process: an object with a method for each function that it has."""
        self._writer.u64(number)
        self._writer.u64(sum(1 << function.number for function in group.functions
                             if not function.local and hasattr(implementation, function.name)))
        self.values(group.fields, implementation)

    def _shape(self, value):
        self._writer.u64(0 if value is None else 1)
        if value is not None:
            self._writer.u64(value.dtype.packed())
            self._writer.i64(1)
            self._writer.i64(0)
            self._writer.u64(len(value.shape))
            for length in value.shape:
                self._writer.i64(int(length))

    def _tensor(self, value):
        if value is None:
            self._shape(None)
            return
        if isinstance(value, arrays.Typed):
            array, dtype = value
        else:
            array, dtype = numpy.asarray(value), arrays.dtype_of(numpy.asarray(value))
        self._shape(arrays.Output(dtype, array.shape))
        self._writer.blob(arrays.elements(array, dtype))

    def _elements(self, name, output, value):
        if output is None:
            return
        array = numpy.asarray(value)
        if array.shape != output.shape:
            raise ValueError("%s: got shape %s, wanted %s" % (name, list(array.shape), list(output.shape)))
        self._writer.blob(arrays.elements(array, output.dtype))

    def outputs(self, members, arguments, results):
        """What a function that this process serves gave: `results` by name."""
        for member in members:
            kind, name = member.type, member.name
            given = getattr(arguments, name, None)
            if kind.silent:
                continue
            if kind.direction == "in":
                if _has_outputs(self._peer.description, kind) and given is not None:
                    self.outputs(self._peer.description.structs[kind.name], given, results)
            elif kind.kind == "tensor" and kind.direction in ("out", "inout"):
                if kind.count is not None:
                    for output, value in zip(given or (), self._same(name, given or (), results[name])):
                        self._elements(name, output, value)
                elif given is not None:
                    if not isinstance(given, arrays.Output):
                        given = arrays.Output(arrays.dtype_of(given), given.shape)
                    self._elements(name, given, results[name])
            elif kind.direction == "optional":
                self.value(kind, results[name] if given else None)
            elif kind.kind == "object":
                self._writer.u64(self._peer.exports.add_object(results[name]))
            elif kind.kind == "struct" and kind.count is None and kind.direction == "out":
                self.values(self._peer.description.structs[kind.name], results[name], whole=True)
            else:
                self.value(kind, results[name])

    @staticmethod
    def _same(name, wanted, got):
        if len(wanted) != len(got):
            raise ValueError("%s: got %d tensors, wanted %d" % (name, len(got), len(wanted)))
        return got
