#!/usr/bin/env python3
"""What sdk/describe_abi.py makes of declarations and of the notes beside them, and what it refuses.

    describe_abi_test.py SOURCE_FOLDER
"""
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCE / "sdk"))
from describe_abi import Abi  # noqa: E402

STATUS = "#define QUENCH_ABI_MAJOR 0\n#define QUENCH_ABI_MINOR 4\n#define QUENCH_NEEDS_X (1u << 3) /* why */\n"
TABLE = """
typedef struct quench_thing quench_thing;
typedef struct quench_point {
  uint32_t struct_size;
  const int64_t* shape /*: [dimensions] */; /* in elements */
  int32_t dimensions;
  const char* name /*: null */;
  const char* text;
  uint64_t text_bytes;
} quench_point;
typedef struct quench_thing_table {
  uint32_t struct_size;
  /* Opens it. */
  /*: keeps */
  quench_status (*open)(const quench_point* points /*: [count] */, uint64_t count,
                        quench_thing** thing, quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*close)(quench_thing* thing) QUENCH_NOEXCEPT;
  /*: optional group walk */
  quench_status (*walk)(quench_thing* thing,
                        quench_status (*visit)(void* context, const quench_tensor* at) QUENCH_NOEXCEPT,
                        void* context, const quench_tensor* to /*: out */, quench_error* error) QUENCH_NOEXCEPT;
} quench_thing_table;
"""


class DescribeAbiTest(unittest.TestCase):
    def described(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "status.h").write_text(STATUS)
            (pathlib.Path(folder) / "thing.h").write_text(text)
            return Abi(folder).description()

    def test_types_follow_from_declarations_and_notes(self):
        abi = self.described(TABLE)
        self.assertEqual(abi["constants"]["QUENCH_NEEDS_X"], 8)
        self.assertEqual(abi["objects"], ["quench_thing"])
        self.assertEqual(abi["structs"]["quench_point"]["fields"], [
            ["shape", "i64[dimensions]"], ["dimensions", "i32"], ["name", "string?"], ["text", "bytes[text_bytes]"],
            ["text_bytes", "u64"]])
        table = abi["tables"]["quench_thing_table"]
        self.assertEqual((table["kind"], table["header"]), ("thing", "thing.h"))
        opens, closes, walks = table["functions"]
        self.assertEqual(opens, {"name": "open", "returns": "status", "parameters": [
            ["points", "struct quench_point[count]"], ["count", "u64"], ["thing", "out object quench_thing"],
            ["error", "error"]], "arguments": "object"})
        self.assertEqual(closes, {"name": "close", "returns": "void", "parameters": [["thing", "object quench_thing"]],
                                  "closes": True})
        self.assertEqual(walks["optional"], "walk")
        self.assertEqual(walks["parameters"][1:4], [["visit", "interface quench_thing_visit"], ["context", "context of visit"],
                                                    ["to", "out tensor"]])
        visit = abi["interfaces"]["quench_thing_visit"]
        self.assertEqual((visit["bare"], visit["place"]), (True, "quench_thing_table::walk, 1"))

    def test_an_identifier_belongs_to_the_next_table(self):
        abi = self.described(TABLE + """
#define QUENCH_THING_MORE "quench.thing.more/1"
typedef struct quench_thing_more {
  uint32_t struct_size;
  uint32_t (*count)(const quench_thing* thing) QUENCH_NOEXCEPT;
} quench_thing_more;
#define QUENCH_SERVICE_CLOCK "quench.clock/1"
typedef struct quench_clock { /*: local time of the process itself */
  uint32_t struct_size;
  uint64_t (*now)(const quench_host* host) QUENCH_NOEXCEPT;
} quench_clock;
""")
        self.assertEqual(abi["tables"]["quench_thing_more"]["extension"], "quench.thing.more/1")
        self.assertEqual(abi["services"]["quench_clock"], {
            "header": "thing.h", "service": "quench.clock/1", "local": "time of the process itself", "functions": ["now"]})

    def test_what_a_later_minor_adds_to_a_service_is_numbered_behind_the_rest(self):
        service = """
#define QUENCH_SERVICE_{0} "quench.{1}/1"
typedef struct quench_{1} {{
  uint32_t struct_size;
  uint64_t (*old)(const quench_host* host) QUENCH_NOEXCEPT;
  /*: {2} */
  uint64_t (*new)(const quench_host* host) QUENCH_NOEXCEPT;
}} quench_{1};
"""
        abi = self.described(TABLE + service.format("CLOCK", "clock", "optional; since 1.10") +
                             service.format("WATCH", "watch", "optional; since 1.9"))
        functions = [function for name in ("quench_clock", "quench_watch") for function in abi["services"][name]["functions"]]
        self.assertEqual([(one["name"], one.get("since"), one["number"]) for one in functions],
                         [("old", None, 0), ("new", "1.10", 3), ("old", None, 1), ("new", "1.9", 2)])

    def test_what_it_does_not_know_is_refused(self):
        for change, message in ((("/*: null */", "/*: nul */"), "unknown note `nul`"),
                                (("/*: closes */", "/*: ends */"), "unknown note `ends`"),
                                (("int32_t dimensions", "quench_unknown dimensions"), "no such type: quench_unknown")):
            with self.assertRaises(SystemExit) as refused:
                self.described(TABLE.replace(*change))
            self.assertIn(message, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
