"""Markdown, LaTeX, SQLite and Parquet of records. tests/data/tables holds what the program itself wrote of the runs in
odd_runs.py before this package did: their records in the order of the rows (.jsonl), and its tables of them. Only the columns
`text.` in texts.sql are younger: those of its texts.md."""

import io
import json
import os
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

import odd_runs
import support
import quench
from quench import tables

SOURCE = Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests/data/tables"


def content(database):
    """Columns, rows and their types of the table `records`."""
    names = [column[0] for column in database.execute("select * from records").description]
    types = ", ".join('typeof("%s")' % name for name in names)
    return (database.execute("select sql from sqlite_master").fetchall(), database.execute("select * from records").fetchall(),
            database.execute("select %s from records" % types).fetchall())


class TablesTest(support.FileTest):
    def lines(self, name):
        return tables.Lines(io.BytesIO((DATA / (name + ".jsonl")).read_bytes()))

    def records(self, name):
        """As quench.records() reads them, in the order of the rows."""
        by_identity = {(one["key"], one["metric"], one["value"] is None, str(one["details"])): one
                       for one in quench.records(os.path.join(self.folder, name))}
        self.assertEqual(len(by_identity), len(list(self.lines(name))))
        return sorted(by_identity.values(), key=lambda one: [
            i for i, line in enumerate(self.lines(name))
            if all(line[field] == one[field] for field in ("key", "metric", "label", "quantizer", "checkpoint", "averaging",
                                                           "draw", "details", "job"))])

    def test_tables_of_text_are_those_that_the_program_wrote(self):
        for name in "odd", "sweep", "texts":
            for end, table in ("md", tables.markdown), ("tex", tables.latex):
                wanted = (DATA / ("%s.%s" % (name, end))).read_text()
                self.assertEqual(table(self.lines(name)), wanted)

    def test_records_of_the_reader_give_the_same_tables(self):
        odd_runs.write_runs(self.folder)
        for name in "odd", "texts":
            records = self.records(name)
            self.assertEqual(tables.markdown(records), (DATA / (name + ".md")).read_text())
            self.assertEqual(tables.latex(records), (DATA / (name + ".tex")).read_text())

    def test_an_error_without_its_loss_has_the_text_of_the_value_that_it_derives_from(self):
        errors = [line for line in self.lines("texts") if line["metric"] == "quantization_error"]
        self.assertIn("\n| 64 | web 1a2b3c4d | x | main step200 | q4 | 3.15 |  |  | 50.000 ± 0.000 % |\n",
                      tables.markdown(errors))

    def test_databases_are_those_that_the_program_wrote(self):
        for name in "odd", "sweep", "texts":
            wanted = sqlite3.connect(":memory:")
            wanted.executescript((DATA / (name + ".sql")).read_text())
            path = os.path.join(self.folder, name + ".db")
            for _ in range(2):  # anew
                tables.write_sqlite(path, self.lines(name))
                self.assertEqual(content(sqlite3.connect(path)), content(wanted))
        self.assertEqual(sorted(os.listdir(self.folder)), ["odd.db", "sweep.db", "texts.db"])

    def test_a_database_of_the_readers_records_has_the_same_rows(self):
        path = os.path.join(self.folder, "r.db")
        odd_runs.write_runs(self.folder)
        tables.write_sqlite(path, self.records("odd"))
        wanted = sqlite3.connect(":memory:")
        wanted.executescript((DATA / "odd.sql").read_text())
        for got, row in zip(content(sqlite3.connect(path))[1], content(wanted)[1]):  # the reader has 3 for 3.0
            self.assertEqual((got[:-2], *map(json.loads, got[-2:])), (row[:-2], *map(json.loads, row[-2:])))

    def test_only_a_file_is_replaced_and_only_by_a_whole_one(self):
        pipe, path = os.path.join(self.folder, "pipe"), self.write("before", "x.db")
        os.mkfifo(pipe)
        with self.assertRaisesRegex(tables.Failure, "^.*pipe: is a pipe; only a regular file can be replaced$"):
            tables.write_sqlite(pipe, self.lines("odd"))

        def broken():
            yield next(iter(self.lines("odd")))
            raise ValueError

        class Records:
            passes = 0

            def __iter__(self):
                self.passes += 1
                return iter(broken() if self.passes > 1 else [])

        with self.assertRaises(ValueError):
            tables.write_sqlite(path, Records())
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "before")
        self.assertEqual(sorted(os.listdir(self.folder)), ["pipe", "x.db"])

    def test_pandas_and_polars_read_plain_columns(self):
        try:
            import pandas  # noqa: PLC0415
            import polars  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            self.skipTest(str(missing))
        path = os.path.join(self.folder, "odd.parquet")
        tables.write_parquet(path, self.lines("odd"))
        wanted = [line["metric"] for line in self.lines("odd")]
        self.assertEqual(pandas.read_parquet(path)["metric"].tolist(), wanted)
        read = polars.read_parquet(path)
        self.assertEqual(read["metric"].to_list(), wanted)
        self.assertEqual((str(read.schema["step"]), str(read.schema["value"]), str(read.schema["items"])),
                         ("Int64", "Float64", "List(Float64)"))

    def test_parquet_has_the_same_columns_with_lists_of_items_and_numbers_that_are_none(self):
        try:
            import pyarrow.parquet  # noqa: PLC0415
        except ModuleNotFoundError:
            self.skipTest("no module pyarrow")
        for name in "odd", "sweep", "texts":
            path = os.path.join(self.folder, name + ".parquet")
            tables.write_parquet(path, self.lines(name))
            table = pyarrow.parquet.read_table(path)
            wanted = sqlite3.connect(":memory:")
            wanted.executescript((DATA / (name + ".sql")).read_text())
            rows = wanted.execute("select * from records")
            self.assertEqual(table.column_names, [column[0] for column in rows.description])
            for got, row in zip(table.to_pylist(), rows, strict=True):
                for (column, value), before in zip(got.items(), row, strict=True):
                    if column == "items":
                        self.assertEqual(value, before and json.loads(before))
                    else:
                        self.assertEqual(str(value), "nan" if before == "NaN" and isinstance(value, float) else str(
                            float(before) if isinstance(value, float) else before))
        self.assertEqual(str(table.schema.field("value").type), "double")

    def test_the_command_prints_and_writes(self):
        def ended(*words):
            with open(DATA / "odd.jsonl", "rb") as file:
                return subprocess.run([sys.executable, SOURCE / "python/quench/start.py", "tables", *words], stdin=file,
                                      cwd=self.folder, capture_output=True, timeout=60)

        self.assertEqual(ended("--table=latex").stdout, (DATA / "odd.tex").read_bytes())
        self.assertEqual(ended("--sqlite=r.db").returncode, 0)
        self.assertEqual(os.listdir(self.folder), ["r.db"])
        got = ended("--sqlite=none/r.db")
        self.assertEqual((got.returncode, got.stdout), (1, b""))
        self.assertEqual(got.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
