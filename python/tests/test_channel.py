import os
import re
import unittest

import support  # noqa: F401, finds the package
from quench import channel

HOST = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "core/plugin/wire/memory.hpp")


class OwnMemoryTest(unittest.TestCase):
    def test_pages_that_the_host_may_have_pinned_are_never_given_back(self):
        descriptor = os.memfd_create("channel test")
        self.addCleanup(os.close, descriptor)
        os.ftruncate(descriptor, 2 * channel._KEPT)
        memory = channel.OwnMemory(descriptor)
        memory.put(b"first")
        memory.top = channel._KEPT - 4096
        memory.put(bytes([1]) * 8192)  # a page below, a page above
        memory.reset(0)
        self.assertEqual(os.fstat(descriptor).st_blocks * 512, 2 * 4096)
        memory.put(b"again")
        memory.reset(0)
        self.assertEqual(os.fstat(descriptor).st_blocks * 512, 2 * 4096)

    @unittest.skipUnless(os.path.exists(HOST), "the package is not in the source tree")
    def test_they_are_as_many_as_the_host_takes_them_for(self):
        with open(HOST, encoding="utf-8") as file:
            said = re.search(r"kKeptBytes = uint64_t\{(\d+)\} << (\d+);", file.read())
        self.assertEqual(channel._KEPT, int(said[1]) << int(said[2]))


if __name__ == "__main__":
    unittest.main()
