#!/usr/bin/env python3
"""Which changes of the headers sdk/freeze_abi.py refuses: each is made in a copy of them.

    freeze_abi_test.py SOURCE_FOLDER
"""
import pathlib
import shutil
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
HEADERS = SOURCE / "sdk/include/quench/abi"
sys.path.insert(0, str(SOURCE / "sdk"))
from freeze_abi import broken, promised  # noqa: E402


class FreezeAbiTest(unittest.TestCase):
    def faults(self, header, before, after):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(HEADERS, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / header
            text = path.read_text()
            self.assertEqual(text.count(before), 1, before)
            path.write_text(text.replace(before, after))
            return list(broken(promised(HEADERS), promised(folder)))

    def test_a_function_at_the_end_of_a_table_is_taken(self):
        self.assertEqual(self.faults("kind/quantizer.h", "} quench_quantizer_table;",
                                     "  /*: optional */\n  uint32_t (*more)(const quench_quantizer* quantizer) QUENCH_NOEXCEPT;\n"
                                     "} quench_quantizer_table;"), [])

    def test_a_member_at_the_end_of_arguments_a_new_struct_and_a_new_number_are_taken(self):
        self.assertEqual(self.faults("kind/quantizer.h", "} quench_observe_args;", "  uint64_t more;\n} quench_observe_args;"), [])
        self.assertEqual(self.faults("kind/corpus.h", "typedef struct quench_corpus quench_corpus;",
                                     "#define QUENCH_MORE 1\ntypedef struct quench_corpus quench_corpus;\n"
                                     "typedef struct quench_more { uint32_t struct_size; } quench_more;"), [])

    def test_a_function_that_moves_is_refused(self):
        self.assertEqual(self.faults("kind/quantizer.h", "  /*: closes */\n  void (*destroy)",
                                     "  void (*early)(quench_quantizer* quantizer) QUENCH_NOEXCEPT;\n  void (*destroy)"),
                         ["quench_quantizer_table: member 2 is `16 8 void (*early)(quench_quantizer*)`, wanted "
                          "`16 8 void (*destroy)(quench_quantizer*)`"])

    def test_another_parameter_is_refused(self):
        self.assertEqual(self.faults("kind/corpus.h", "(*fingerprint)(quench_corpus* corpus, char hex[65],",
                                     "(*fingerprint)(quench_corpus* corpus, uint32_t which, char hex[65],"),
                         ["quench_corpus_table: member 4 is `32 8 quench_status (*fingerprint)(quench_corpus*, uint32_t, char[65], "
                          "quench_error*)`, wanted `32 8 quench_status (*fingerprint)(quench_corpus*, char[65], quench_error*)`"])

    def test_a_member_of_a_fixed_struct_is_refused(self):
        self.assertEqual(self.faults("kind/model.h", "} quench_group_info;", "  uint64_t more;\n} quench_group_info;"),
                         ["quench_group_info: is fixed, and has a member more: `48 8 uint64_t more`"])

    def test_a_member_in_the_padding_is_refused(self):
        faults = self.faults("kind/model.h", "} quench_model_open_args;", "  uint32_t more;\n} quench_model_open_args;")
        self.assertEqual(faults, ["quench_model_open_args: `44 4 uint32_t more` lies in padding that earlier plugins count as theirs; "
                                  "it begins at 48 or later"])

    def test_another_number_is_refused(self):
        self.assertEqual(self.faults("kind/quantizer.h", "#define QUENCH_NEEDS_ROWS (1u << 0)",
                                     "#define QUENCH_NEEDS_ROWS (1u << 12)"),
                         ["QUENCH_NEEDS_ROWS: is (1u << 12), wanted (1u << 0)"])


if __name__ == "__main__":
    unittest.main()
