"""What an interpreter lacks of packages, and how a verb is started in it."""

import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401, finds the package
from quench import requirements

PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # as the program starts it
START = os.path.join(os.path.dirname(requirements.__file__), "start.py")


class LackTest(unittest.TestCase):
    def lack(self, *names, managed=False):
        with mock.patch.object(requirements, "is_externally_managed", return_value=managed), \
                mock.patch.object(sys, "executable", "/e/bin/python3"):
            return requirements.lack(names)

    def test_what_is_there_is_not_lacking(self):
        self.assertIsNone(self.lack("json", "os", "xml.dom"))
        self.assertIsNone(self.lack())

    def test_pip_installs_by_the_name_that_pypi_has(self):
        with mock.patch.object(requirements, "missing", list):
            self.assertEqual(self.lack("yaml", "pyarrow"), (
                "has no modules yaml, pyarrow", "install it there (/e/bin/python3 -m pip install PyYAML pyarrow)"))

    def test_debians_python_gets_debians_package_where_there_is_one(self):
        with mock.patch.object(requirements, "missing", list):
            self.assertEqual(self.lack("yaml", managed=True), (
                "has no module yaml", "install it there (sudo apt-get install python3-yaml)"))
            self.assertEqual(self.lack("wandb", managed=True)[1], "install it into an environment (/e/bin/python3 -m "
                             "venv ENV && ENV/bin/python3 -m pip install wandb)")

    def test_an_old_interpreter_is_told_by_its_version(self):
        with mock.patch.object(requirements, "OLDEST", (9, 9)):
            self.assertIn("wanted 9.9 or newer", self.lack("json")[0])


class StartTest(unittest.TestCase):
    def start(self, *words, folder=None, **more):
        return subprocess.run([sys.executable, START, *words], cwd=folder, capture_output=True, text=True, timeout=60,
                              env=PLAIN, **more)

    def test_it_prints_what_is_lacking_and_ends_with_1(self):
        got = self.start("requirements", "json", "no_such_module")
        self.assertEqual((got.returncode, got.stdout.splitlines()[0]), (1, "has no module no_such_module"))
        self.assertEqual(self.start("requirements", "json").returncode, 0)

    def test_what_lies_in_the_working_folder_is_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("quench", "importlib", "runpy", "sysconfig", "sitecustomize"):
                with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                    file.write("open('was_run', 'w')\n")
            self.assertEqual(self.start("requirements", "json", folder=folder).returncode, 0)
            self.assertNotIn("was_run", os.listdir(folder))

    def test_a_fault_of_the_module_is_one_line(self):
        got = self.start("no_such_verb")
        self.assertEqual(got.returncode, 1)
        self.assertRegex(got.stderr, r"^internal error: .*: ImportError: No module named .*\n$")

    def test_output_that_is_lost_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            got = subprocess.run([sys.executable, START, "requirements", "no_such_module"], stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=60, env=PLAIN)
        self.assertEqual((got.returncode, got.stderr), (
            1, "standard output: write failed: No space left on device\n"))


if __name__ == "__main__":
    unittest.main()
