#!/usr/bin/env python3
"""Plugins of 1.0 and of a made-up 1.2, in hosts of today, 1.1, and of that 1.2: the outcome of each is what docs/abi.md promises, and the
numbers are those of tests/golden/1.0/numbers.txt.

    hosts_test.py FOLDER_OF_GOLDENS BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import unittest

BUILD, GOLDEN = pathlib.Path(sys.argv.pop()), pathlib.Path(sys.argv.pop())
NUMBERS = (GOLDEN / "1.0/numbers.txt").read_text().splitlines()
OLD = sorted((GOLDEN / "1.0").glob("*.so"))
LATER = [BUILD / "later" / file.name for file in OLD]
TOYS = [BUILD / f"later/planned_toys_{needs}.so" for needs in (0, 2)]


def host(name, *plugins):
    done = subprocess.run([str(BUILD / name), *map(str, plugins)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{name}: ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()


class HostsTest(unittest.TestCase):
    maxDiff = None

    def test_there_is_a_binary_of_each_kind(self):
        self.assertEqual({line.split()[0] for line in NUMBERS},
                         {"model", "quantizer", "transform", "averaging", "metric", "corpus", "tokenizer", "optimizer", "format"})

    def test_written_for_1_0_in_a_host_of_today(self):
        self.assertEqual(host("golden_host", *OLD), NUMBERS)

    def test_written_for_1_0_in_a_host_of_the_future(self):
        self.assertEqual(host("golden_host_later", *OLD), NUMBERS)

    def test_written_for_1_2_with_less_in_a_host_of_the_past(self):
        self.assertEqual(host("golden_host", *LATER), NUMBERS)

    def test_written_for_1_2_in_a_host_of_its_own_version(self):
        self.assertEqual(host("golden_host_later", *LATER), NUMBERS)

    def test_needs_more_than_the_host_has(self):
        self.assertEqual(host("golden_host", TOYS[1]),
                         ["planned_toys_2.so: needs a host of plugin ABI 1.2, this quench has 1.1: take a later quench"])

    def test_does_with_less_and_says_what_it_misses(self):
        self.assertEqual(host("golden_host", TOYS[0]), ["planned_toys_0.so: this quench sets no ops on inputs"])

    def test_what_is_planned_has_room_at_the_ends_of_the_tables(self):
        for toys in TOYS:
            lines = host("golden_host_later", toys)
            self.assertEqual(lines[0].partition(": ")[2].partition(", ")[2],
                             "an input op with its backward, a cache op -1.25 -1.25")
            self.assertTrue(lines[1].endswith(", v_o rotated, its input doubled"), lines[1])
            self.assertTrue(lines[2].endswith(", of two levels -0.75, 4 tensors with those of its input"), lines[2])


if __name__ == "__main__":
    unittest.main()
