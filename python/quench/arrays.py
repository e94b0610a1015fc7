"""Tensors of the interface as numpy arrays: element types, and views of memory that is the host's."""

import gc
import weakref
from typing import NamedTuple

import numpy


class DType(NamedTuple):
    """An element type with DLPack's numbers."""

    code: int
    bits: int
    lanes: int = 1

    @property
    def bytes(self):
        return (self.bits + 7) // 8

    @classmethod
    def unpack(cls, number):
        return cls(number & 0xFF, number >> 8 & 0xFF, number >> 16 & 0xFFFF)

    def packed(self):
        return self.code + 256 * self.bits + 65536 * self.lanes


BFLOAT16 = DType(4, 16)
FLOAT32 = DType(2, 32)
FLOAT64 = DType(2, 64)
_NUMPY = {DType(0, 8): "i1", DType(0, 16): "i2", DType(0, 32): "i4", DType(0, 64): "i8", DType(1, 8): "u1",
          DType(1, 16): "u2", DType(1, 32): "u4", DType(1, 64): "u8", DType(2, 16): "f2", FLOAT32: "f4", FLOAT64: "f8",
          DType(6, 8): "?"}
_OURS = {numpy.dtype(name): dtype for dtype, name in _NUMPY.items()}


def dtype_of(array):
    """The interface's type of an array's elements. Raises TypeError."""
    try:
        return _OURS[array.dtype]
    except KeyError:
        raise TypeError("an array of %s cannot be handed to the host" % array.dtype) from None


def numpy_dtype(dtype):
    """numpy's type for elements of the interface's; float32 for bfloat16, which numpy lacks."""
    if dtype == BFLOAT16:
        return numpy.dtype("f4")
    if dtype not in _NUMPY:
        raise TypeError("elements of code %d with %d bits are none that numpy has" % (dtype.code, dtype.bits))
    return numpy.dtype(_NUMPY[dtype])


def read(memory, dtype, shape):
    """An array over `memory`; bfloat16 becomes float32, which is a copy."""
    if dtype == BFLOAT16:
        raw = numpy.frombuffer(memory, "<u2").astype("<u4")
        return (raw << 16).view("<f4").reshape(shape)
    return numpy.frombuffer(memory, numpy_dtype(dtype)).reshape(shape)


def elements(array, dtype):
    """The array's elements in C order as the interface's type, rounded once: an object to take bytes of."""
    array = numpy.asarray(array)
    if dtype == BFLOAT16:
        bits = numpy.ascontiguousarray(array, "<f4").view("<u4")
        rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
        return numpy.where((bits & 0x7FFFFFFF) > 0x7F800000, bits >> 16 | 0x40, rounded).astype("<u2")
    return numpy.ascontiguousarray(array, numpy_dtype(dtype))


class Output(NamedTuple):
    """A tensor that the caller has room for."""

    dtype: DType
    shape: tuple


class Typed(NamedTuple):
    """An array to be handed over with another element type than its own."""

    array: numpy.ndarray
    dtype: DType


class Lease:
    """The views that one call was given. They are the host's memory, which it reuses after the call."""

    def __init__(self):
        self._roots = []

    def view(self, memory, dtype, shape):
        """A read-only array over `memory`, valid until `end`."""
        array = read(memory, dtype, shape)
        if dtype != BFLOAT16:  # whatever is made of it without a copy has the same base
            self._roots.append(weakref.ref(array.base if isinstance(array.base, numpy.ndarray) else array))
        return array

    def end(self):
        """Whether no array of the call is left. One that is left would change under its owner's hands."""
        if self._is_over():
            return True
        gc.collect()  # arrays in reference cycles are no one's
        return self._is_over()

    def _is_over(self):
        return all(root() is None for root in self._roots)
