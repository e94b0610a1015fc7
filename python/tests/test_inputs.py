"""What the host is told of files and variables that a plugin file reads by itself."""

import os
import unittest

from support import FileTest

from fake_host import Failure, Worker, function_number, service_number

OF_MODULE, VARIABLE = 2, 1
TABLE = "quench_averaging_table"
PLUGIN = """
import json
import os
import quench

with open(os.path.join(os.path.dirname(__file__), "top.json")) as file:
    TOP = json.load(file)

@quench.averaging
class Reading:
    def __init__(self):
        import _helper
        self.read()
        os.environ.get("QUENCH_OF_TEST")

    def read(self):
        with open("%(folder)s/late.txt") as file:
            file.read()
        with open("%(folder)s/written.txt", "w") as file:
            file.write("not read")

    def accumulate(self, member, values):
        pass

    def finish(self):
        pass
"""


class InputsTest(FileTest):
    def setUp(self):
        super().setUp()
        for name, text in (("top.json", "{}"), ("late.txt", "late"), ("_helper.py", "X = 1\n")):
            self.write(text, name)
        self.path = self.write(PLUGIN % {"folder": self.folder}, "reading.py")

    def create(self, worker, serve=None):
        body = worker.channel.body().blob(b"{}").u64(2)
        return worker.channel.call(1, function_number(TABLE, "create"), body, serve).status()

    def names(self, noted, flags):
        return [os.path.basename(name) for got, name in noted if got == flags]

    def test_files_that_the_file_opens_are_noted_of_the_module_those_of_an_instance_of_it(self):
        with Worker(self.path) as worker:
            self.create(worker)
            noted = worker.channel.noted
            self.assertEqual(set(self.names(noted, OF_MODULE)), {"reading.py", "top.json"})
            self.assertEqual(set(self.names(noted, 0)), {"_helper.py", "late.txt"})
            before = len(noted)
            self.create(worker)  # an import is made once, a file opened again
            self.assertEqual(self.names(noted[before:], 0), ["late.txt"])

    def test_a_variable_that_the_plugin_asks_for_is_noted_and_none_of_a_library(self):
        with Worker(self.path) as worker:
            self.create(worker)
            self.assertEqual(self.names(worker.channel.noted, VARIABLE), ["QUENCH_OF_TEST"])

    def test_a_module_is_noted_by_its_source_though_python_reads_what_it_was_compiled_to(self):
        import py_compile
        py_compile.compile(os.path.join(self.folder, "_helper.py"))
        with Worker(self.path) as worker:
            self.create(worker)
            self.assertIn("_helper.py", self.names(worker.channel.noted, 0))

    def test_a_file_that_is_not_what_the_key_says_is_not_opened(self):
        with Worker(self.path) as worker:
            worker.channel.refused = "late.txt"
            with self.assertRaises(Failure) as got:
                self.create(worker)
            self.assertEqual(got.exception.status, 11)
            self.assertIn("other bytes", str(got.exception))

    def test_a_file_is_read_through_the_host(self):
        self.write(("import quench\n\nif len(quench.read_file('%s/late.txt')) != 4:\n    raise ValueError\n\n"
                    "@quench.averaging\ndef mine(members):\n    return [1]\n") % self.folder, "reading.py")
        asked = []

        def serve(target, function, answer, reply):
            asked.append(os.path.basename(answer.text()))
            if function == service_number("quench_input_service", "open"):
                reply.i64(0).text(None).u64(4).text("0" * 64)
            else:
                self.assertEqual((answer.u64(), answer.u64()), (0, 4))
                reply.i64(0).text(None).blob(b"late")

        with Worker(self.path) as worker:
            self.create(worker, serve)
        self.assertEqual(asked, ["late.txt", "late.txt"])


if __name__ == "__main__":
    unittest.main()
