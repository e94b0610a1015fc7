"""Tensors of a checkpoint as a family in Python reads them."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401  finds the package
import numpy

from quench import arrays, sources
from quench.status import Error


class Source:
    """What the host answers about three tensors; a single number has no list of lengths."""
    infos = [("weight", [2, 3]), ("scale", None), ("none", [0, 3])]

    def call(self, function, index=0, first=0, elements=0):
        if function == "count":
            return len(self.infos)
        name, shape = self.infos[index]
        if function == "info":
            return SimpleNamespace(name=name, shape=shape, dtype=arrays.FLOAT32)
        return memoryview(numpy.arange(elements, dtype=numpy.float32).view(numpy.uint8))


class Tensors(unittest.TestCase):
    def test_arrays_have_the_shapes_that_the_host_says(self):
        tensors = sources.Tensors(Source())
        read = {name: tensors[name] for name in tensors}
        self.assertEqual({name: array.shape for name, array in read.items()}, {"weight": (2, 3), "scale": (), "none": (0, 3)})
        self.assertEqual(tensors.shape("scale"), ())
        self.assertEqual(read["weight"].tolist(), [[0, 1, 2], [3, 4, 5]])
        with self.assertRaisesRegex(Error, "tensor bias is missing"):
            tensors["bias"]


if __name__ == "__main__":
    unittest.main()
