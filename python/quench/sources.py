"""A source of named tensors, such as the files of a checkpoint."""

from collections.abc import Mapping

import numpy

from . import arrays
from .status import INVALID_ARGUMENT, NOT_FOUND, Error


class Tensors(Mapping):
    """Arrays by name, read as they are asked for: floats as float32, or float64 where they are stored so."""

    def __init__(self, source):
        self._source, self._infos, self.read = source, None, set()

    def _all(self):
        if self._infos is None:
            infos = [(index, self._source.call("info", index=index)) for index in range(self._source.call("count"))]
            self._infos = {info.name: (index, info) for index, info in infos}
        return self._infos

    def __iter__(self):
        return iter(self._all())

    def __len__(self):
        return len(self._all())

    def __contains__(self, name):
        return name in self._all()

    def shape(self, name):
        return self._found(name)[1]

    def _found(self, name):
        if name not in self._all():
            raise Error(NOT_FOUND, "tensor %s is missing" % name)
        index, info = self._all()[name]
        shape = () if info.shape is None else tuple(int(length) for length in info.shape)  # None: a single number
        return index, shape, info.dtype

    def __getitem__(self, name):
        index, shape, dtype = self._found(name)
        count = int(numpy.prod(shape, dtype=numpy.int64))
        data = self._source.call("read", index=index, first=0, elements=count)
        self.read.add(name)
        array = arrays.read(data, dtype, shape)
        return array.astype(numpy.float32) if array.dtype == numpy.float16 else array

    def require_all_read(self, ignored, matches):
        """Raises where tensors are left that were not read: a model that lacks them would be another one."""
        for name in self._all():
            if name not in self.read and not any(matches(name, pattern) for pattern in ignored):
                raise Error(INVALID_ARGUMENT, "this family has no tensor %s" % name)
