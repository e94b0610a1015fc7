#!/usr/bin/env python3
"""bench/peers/gpu_table without a GPU: all of it but the GPU, on a model of two blocks.

usage: gpu_table_test.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()


class GpuTable(unittest.TestCase):
    def run_table(self, folder, *arguments):
        return subprocess.run([sys.executable, SOURCE / "bench/peers/gpu_table", "--shapes", "tiny", "--rows", "4", "--length", "32",
                               "--folder", folder, "--quench", BUILD / "bin/quench", *arguments],
                              capture_output=True, text=True, check=False, env={**os.environ, "QUENCH_HOME": folder})

    def test_a_table_on_the_processor_has_seconds_parts_and_a_rate(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_table(folder, "--device", "cpu")
            self.assertEqual(done.returncode, 0, done.stderr)
            row = re.search(r"^tiny +2 +1\.97e\+05 +[\d.]+ +([\d.]+) +([\de.-]+) +[\d.]+%", done.stdout, re.M)
            self.assertTrue(row, done.stdout)
            # 2 blocks: 128 ids through 65,536 weights and attention, Gram matrices of 64, 64, 64 and 256 columns
            weights, grams = 4 * 64 * 64 + 3 * 256 * 64, 3 * 64 ** 2 + 256 ** 2
            factors, loops = 3 * 64 ** 3 + 256 ** 3, (4 * 64 + 2 * 256) * 64 ** 2 + 64 * 256 ** 2
            floor = 2 * ((128 * (2 * weights + 2 * 32 * 64) + 128 * grams) / 780e12 + 4 / 3 * factors / 25e12 + loops / 40e12)
            self.assertAlmostEqual(float(row.group(2)), floor, delta=0.01 * floor)
            self.assertRegex(done.stdout, r"columns [\d.]+, .*factor [\d.]+, .*forward [\d.]+")
            self.assertRegex(done.stdout, r"(?m)^training: \d+ tokens/s$")

    def test_without_a_gpu_it_says_so_before_it_computes(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_table(folder, "--device", "cuda:77")
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, "no nvidia-smi|nvidia-smi does not know GPU 77|cuda:77")
            self.assertNotIn("Traceback", done.stderr)

    def test_an_unknown_shape_is_named(self):
        done = subprocess.run([sys.executable, SOURCE / "bench/peers/gpu_table", "--shapes", "9b"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("9b: wanted tiny, 160m, 1b, 7b, 32b", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
