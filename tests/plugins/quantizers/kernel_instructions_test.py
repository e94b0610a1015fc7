#!/usr/bin/env python3
"""What nvcc makes of the kernels' arithmetic: the instructions that round as a processor does, and no others.

usage: kernel_instructions_test.py NVCC SOURCE_DIR FILE.cu...

The tests of the kernels run on the host. A GPU gives the same bits if each operation is the one of IEEE 754 that C++ names:
PTX then says so, as in `mul.rn.f64`, and a fused multiply-add appears nowhere but inside pow().
"""
import re
import subprocess
import sys

if len(sys.argv) < 4 or not sys.argv[1]:
    print("SKIPPED: no nvcc was found")
    sys.exit(77)
nvcc, root, *files = sys.argv[1:]

# Exact whatever the suffix, or a comparison, a choice, a move; and rounded to nearest.
EXACT = {"abs", "neg", "min", "max", "setp", "set", "selp", "mov", "ld", "st", "testp", "copysign"}
ROUNDED = re.compile(r"(add|sub|mul|div|rcp|sqrt)\.rn\.f(32|64)|cvt(\.\w+)*")
wrong, seen = [], set()
for file in files:
    ptx = subprocess.run([nvcc, "-std=c++20", "-O3", "-fmad=false", "--expt-relaxed-constexpr", f"-I{root}/plugins",
                          f"-I{root}/sdk/include", "-arch=compute_80", "-ptx", f"{root}/{file}", "-o", "/dev/stdout"],
                         check=True, capture_output=True, text=True).stdout
    within = ""
    for line in ptx.splitlines():
        if ".entry" in line or line.startswith(".func"):
            within = line
        found = re.match(r"\s*(?:@!?%p\d+\s+)?([a-z][\w.]*\.f(?:32|64)[\w.]*)\s", line)
        if not found or "__internal_accurate_pow" in within:
            continue
        name = found[1]
        seen.add(name)
        if name.split(".")[0] not in EXACT and not ROUNDED.fullmatch(name):
            wrong.append(f"{file}: {name} in {within.strip()[:120]}")
for line in sorted(set(wrong)):
    print(line)
wanted = {"mul.rn.f64", "sub.rn.f64", "div.rn.f64", "mul.rn.f32", "sub.rn.f32", "sqrt.rn.f32"}
if not wanted <= seen:
    print(f"the kernels should use {sorted(wanted - seen)}, so this test reads something else")
print(f"{len(seen)} instructions on floating-point numbers: {' '.join(sorted(seen))}")
sys.exit(1 if wrong or not wanted <= seen else 0)
