#!/usr/bin/env python3
"""What sdk/make_reference.py makes of declarations, of their notes and of the comments around them.

    make_reference_test.py SOURCE_FOLDER
"""
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCE / "sdk"))
from make_reference import Reference  # noqa: E402

STATUS = "/* Codes. */\n#define QUENCH_ABI_MAJOR 0\n#define QUENCH_ABI_MINOR 4\n"
THING = """/* Kind "thing": walks.
 *
 *   open -> walk* -> close
 *
 * [instance-serial]
 */
#define QUENCH_NEEDS_X (1u << 3) /* all of *it* */
typedef struct quench_thing quench_thing;
/* Where to
 * go. */
typedef struct quench_point {
  uint32_t struct_size;
  const int64_t* shape /*: [dimensions] */; /* in elements */
  /* How many. */
  int32_t dimensions;
  const char* name /*: null */;
} quench_point;
typedef struct quench_thing_table {
  uint32_t struct_size;
  /* Opens it. The caller closes it. */
  /*: keeps */
  quench_status (*open)(const quench_point* points /*: [count] */, uint64_t count,
                        quench_thing** thing, quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*close)(quench_thing* thing) QUENCH_NOEXCEPT;
  /* ---- Optional */

  /* Walks; `to` is <there>. [thread-safe] */
  /*: optional group walk */
  quench_status (*walk)(quench_thing* thing, const quench_tensor* to /*: out */,
                        quench_error* error) QUENCH_NOEXCEPT;
} quench_thing_table;
"""


class MakeReferenceTest(unittest.TestCase):
    def test_each_comment_stands_beside_what_it_is_about(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "status.h").write_text(STATUS)
            (pathlib.Path(folder) / "thing.h").write_text(THING)
            page = Reference(folder).text()
        self.assertEqual(page[page.index("## thing.h"):], """## thing.h

Kind "thing": walks.

    open -> walk* -> close

[instance-serial]

- `QUENCH_NEEDS_X` = 8: all of \\*it\\*

### quench_point

Where to go.

- `shape: i64[dimensions]`: in elements
- `dimensions: i32`: How many.
- `name: string?`

### quench_thing_table

- **open**(points: quench_point[count], count: u64, → thing: quench_thing) → status · *keeps its arguments as long as its \
object*: Opens it. The caller closes it.
- **close**(thing: quench_thing) · *closes its object*
- **walk**(thing: quench_thing, → to: tensor) → status · *optional, group walk*: Walks; `to` is \\<there>. [thread-safe]
""")


if __name__ == "__main__":
    unittest.main()
