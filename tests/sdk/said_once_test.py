#!/usr/bin/env python3
"""The plugin interface is said once, in its headers: nothing else in the tree lists its functions, structs or numbers by hand.

    said_once_test.py SOURCE_FOLDER
"""
import json
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
FOLDERS = ("core", "run", "cli", "train", "python/quench", "sdk", "tests/sdk")
GENERATORS = ("core/plugin/wire/make_stubs.py", "core/plugin/calls/make_table_slots.py", "tests/sdk/make_layout.py", "python/quench/abi.py",
              "sdk/describe_abi.py", "sdk/make_reference.py", "sdk/freeze_abi.py", "sdk/make_rust.py")
HEADERS = SOURCE / "sdk/include/quench/abi"


def files():
    """All but what a released version promised, sdk/abi-*.txt, which is a record and not a source, and what a stranger without our
    package writes."""
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".h", ".py", ".txt") and HEADERS not in path.parents \
                    and not path.match("sdk/abi-*.txt") and SOURCE / "tests/sdk/strangers" not in path.parents:
                yield path, path.read_text()


class SaidOnceTest(unittest.TestCase):
    def setUp(self):
        self.abi = json.loads((SOURCE / "sdk/abi.json").read_text())

    def test_there_is_one_description(self):
        found = [path for folder in FOLDERS for path in (SOURCE / folder).rglob("abi.json") if not path.is_symlink()]
        self.assertEqual(found, [SOURCE / "sdk/abi.json"])

    def test_what_is_made_of_the_description_names_no_struct_of_it(self):
        names = [name for group in ("structs", "interfaces", "tables", "services") for name in self.abi[group]]
        for generator in GENERATORS:
            text = (SOURCE / generator).read_text()
            self.assertEqual([name for name in names if re.search(rf"\b{name}\b", text)], [], generator)

    def test_no_file_lists_the_functions_of_a_table(self):
        required = {name: {function["name"] for function in table["functions"] if "optional" not in function}
                    for name, table in self.abi["tables"].items() if "kind" in table}
        for path, text in files():
            lists = [set(re.findall(r'"(\w+)"', run)) for run in re.findall(r'(?:"\w+"[\s,)(]*){3,}', text)]
            lists += [set(re.findall(rf"offsetof\({name}, (\w+)\)", text)) for name in required]
            for name, functions in required.items():
                if path != SOURCE / "sdk/describe_abi.py" and functions:
                    for one in lists:
                        self.assertFalse(functions <= one, f"{path} lists the functions of {name}")

    def test_no_file_repeats_a_number_of_the_headers(self):
        names = "|".join(self.abi["constants"])
        for path, text in files():
            if "tests" in path.parts:
                continue
            if path.suffix == ".py":
                words = "|".join(name.removeprefix("QUENCH_").lower() for name in self.abi["constants"])
                self.assertIsNone(re.search(rf'"({words})": *(\d|1 <<)', text), path)
            self.assertIsNone(re.search(rf"\b({names})\b *=? *\(?\d", text), path)


if __name__ == "__main__":
    unittest.main()
