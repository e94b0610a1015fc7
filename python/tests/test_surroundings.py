"""What the host is told of all that a plugin file computes with."""

import json
import os
import sys
import unittest
from types import SimpleNamespace

from support import FileTest

from fake_host import PACKAGE
from quench.kinds import TABLES
from quench.plugin import Plugin
from quench.surroundings import COMPUTING, surroundings

ROUNDING = "import quench\n\n@quench.quantizer(bits=4)\ndef mine(weight, bits):\n    return weight\n"


class SurroundingsTest(FileTest):
    def beside(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
        return self.write(text, name)

    def test_interpreter_and_numpy_always_count(self):
        import numpy
        found = surroundings(self.write(ROUNDING))
        self.assertEqual(found["interpreter"]["version"], "%d.%d.%d" % sys.version_info[:3])
        self.assertEqual(found["distributions"]["numpy"], numpy.__version__)
        self.assertEqual(found["beside"], {})
        self.assertIn(sys.executable, found["watched"])

    def test_what_lies_beside_the_file_counts_with_what_that_imports(self):
        self.beside("_one.py", "import _two.part\n")
        self.beside("_two/__init__.py", "")
        inner = self.beside("_two/part.py", "x = 1\n")
        path = self.write("import _one\n" + ROUNDING)
        before = surroundings(path)
        self.assertEqual(sorted(before["beside"]), ["_one.py", "_two/__init__.py", "_two/part.py"])
        self.assertIn(inner, before["watched"])
        self.beside("_two/part.py", "x = 2\n")
        after = surroundings(path)
        self.assertEqual(list(after["beside"]), list(before["beside"]))
        self.assertNotEqual(after["beside"]["_two/part.py"], before["beside"]["_two/part.py"])

    def test_a_file_is_not_the_library_that_it_is_named_after(self):
        found = surroundings(self.write("import absent_library\n" + ROUNDING, "absent_library.py"))
        self.assertEqual(found["beside"], {})
        self.assertIn("absent_library", found["watched"].values())

    def test_the_standard_library_is_the_interpreters(self):
        found = surroundings(self.write("import json, os.path, math\n" + ROUNDING))
        self.assertEqual(list(found["distributions"]), ["numpy"])

    def test_a_module_that_may_be_installed_later_is_watched(self):
        found = surroundings(self.write("import no_such_module_yet\n" + ROUNDING))
        self.assertNotIn("no_such_module_yet", found["distributions"])
        places = [place for place in sys.path if os.path.basename(place) in ("site-packages", "dist-packages")]
        for place in places:
            self.assertIn(os.path.join(place, "no_such_module_yet", "__init__.py"), found["watched"])

    def test_a_broken_file_beside_it_is_its_importers_matter(self):
        self.beside("_broken.py", "def (\n")
        self.assertEqual(list(surroundings(self.write("import _broken\n" + ROUNDING))["beside"]), ["_broken.py"])

    def test_all_that_the_package_computes_is_there(self):
        for name in COMPUTING:
            self.assertTrue(os.path.isfile(os.path.join(PACKAGE, "quench", name)), name)


class FamilyTest(FileTest):
    def ask(self, text, config):
        plugin = Plugin(self.write(text))
        return TABLES["model"](plugin, plugin.items[0]).probe(SimpleNamespace(config_json=json.dumps(config)))

    FAMILY = ("import quench\n\n@quench.model(model_types=[\"mine\"])\nclass Mine:\n" +
              "".join("    def %s(self, *given):\n        pass\n" % name
                      for name in ("open", "parameters", "blocks", "embed", "stage", "logits")))

    def test_a_family_answers_for_its_types(self):
        self.assertEqual(self.ask(self.FAMILY, {"model_type": "mine"})[0], 100)
        self.assertEqual(self.ask(self.FAMILY, {"model_type": "other"})[0], 0)


if __name__ == "__main__":
    unittest.main()
