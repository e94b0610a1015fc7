"""How a plugin file is run."""

import os
import re
import sys
import unittest

from support import FileTest

from quench.plugin import Plugin

FAMILY = """
    import quench
    import {library}

    @quench.quantizer(bits=4)
    def mine(weight, bits):
        return {library}.ANSWER
"""


class PluginTest(FileTest):
    def setUp(self):
        super().setUp()
        paths, finders, modules = list(sys.path), list(sys.meta_path), set(sys.modules)

        def restore():
            sys.path[:], sys.meta_path[:] = paths, finders
            for name in set(sys.modules) - modules:
                del sys.modules[name]

        self.addCleanup(restore)

    def test_a_file_may_be_named_after_the_library_that_it_imports(self):
        library = os.path.join(self.folder, "site-packages")
        os.makedirs(library)
        with open(os.path.join(library, "some_library.py"), "w", encoding="utf-8") as file:
            file.write("ANSWER = 42\n")
        sys.path.append(library)
        plugin = Plugin(self.write(FAMILY.format(library="some_library"), "some_library.py"))
        for place in (self.folder, library):  # whichever is searched first
            sys.path.remove(place) if place in sys.path else None
            sys.path.insert(0, place)
            sys.modules.pop("some_library", None)
            plugin._module = None
            self.assertEqual(plugin.marked(plugin.items[0])(None, 4), 42)

    def test_a_file_is_not_the_library_that_is_missing(self):
        plugin = Plugin(self.write(FAMILY.format(library="absent_library"), "absent_library.py"))
        for _ in range(2):  # the next call tries again
            with self.assertRaises(ModuleNotFoundError) as failure:
                plugin.load()
            self.assertEqual(failure.exception.name, "absent_library")
            self.assertIn(sys.executable, str(failure.exception))

    def test_what_a_file_cannot_import_is_said_with_what_to_type(self):
        plugin = Plugin(self.write(FAMILY.format(library="no_such_library"), "mine.py"))
        with self.assertRaisesRegex(ModuleNotFoundError, "^No module named 'no_such_library' in %s: install it .* or name an "
                                    "interpreter that has it with QUENCH_PYTHON$" % re.escape(sys.executable)):
            plugin.load()
        part = Plugin(self.write(FAMILY.format(library="json.no_such_part"), "part.py"))
        with self.assertRaisesRegex(ModuleNotFoundError, "^No module named 'json.no_such_part'$"):
            part.load()

    def test_what_lies_beside_a_file_is_still_found(self):
        self.write("ANSWER = 7\n", "_beside_it.py")
        plugin = Plugin(self.write(FAMILY.format(library="_beside_it"), "beside.py"))
        self.assertEqual(plugin.marked(plugin.items[0])(None, 4), 7)


if __name__ == "__main__":
    unittest.main()
