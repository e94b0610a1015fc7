"""A plugin's repository, made from a template."""

import os
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401  finds the package

from quench import new_plugin


class NewPlugin(unittest.TestCase):
    def test_each_kind_has_a_repository_that_does_not_speak_of_the_template(self):
        for kind in new_plugin.KINDS:
            with self.subTest(kind=kind):
                files = new_plugin.repository(kind, "my_own")
                for name in "CMakeLists.txt", "LICENSE", "README.md", ".github/workflows/ci.yml":
                    self.assertIn(name, files)
                source = next(text for name, text in files.items() if name in ("my_own.cpp", "my_own.c"))
                self.assertIn('"my_own"', source)
                self.assertNotIn("template_" + kind, source)
                self.assertIn("plugins check", files["CMakeLists.txt"])

    def run_new(self, *words):
        start = os.path.join(os.path.dirname(new_plugin.__file__), "start.py")
        return subprocess.run([sys.executable, start, "new_plugin", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True)

    def test_what_cannot_be_is_refused_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            for words, said in ((("quantiser", "a"), "kind: got quantiser"), (("quantizer", "A-b"), "id: got A-b"),
                                (("quantizer", "a", folder), "already exists")):
                ended = self.run_new(*words)
                self.assertEqual(ended.returncode, 2)
                self.assertIn(said, ended.stderr)
                self.assertEqual(ended.stderr.count("\n"), 1)

    def test_files_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, "new")
            self.assertEqual(self.run_new("transform", "my_own", place).returncode, 0)
            self.assertTrue(os.path.isfile(os.path.join(place, "my_own.cpp")))


if __name__ == "__main__":
    unittest.main()
