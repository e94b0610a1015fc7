#!/usr/bin/env python3
"""Builds the code of docs/writing-a-plugin.md: its CMake file and its Params, in a plugin outside the tree.

usage: build_guide.py SOURCE BUILD
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PLUGIN = """
#include "quench/kit/quantizer.hpp"
namespace kit = quench::kit;
struct MyRounding : kit::Quantizer {
  @PARAMS@
  explicit MyRounding(const Params&) {}
  struct Group : kit::QuantizerGroup {
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
      kit::from_doubles(kit::to_doubles(linear.weight, "weight"), linear.dequantized, "dequantized");
      sink.number("bits_per_weight", 32);
    }
  };
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override { return std::make_unique<Group>(); }
};
QUENCH_MODULE("guide", "0.1.0", kit::quantizer<MyRounding>({.id = "my_rounding", .version = "0.1.0", .summary = "A test."}))
"""


def block(page, language):
    found = re.findall(rf"```{language}\n(.*?)```", page, re.S)
    if len(found) != 1:
        sys.exit(f"writing-a-plugin.md: {len(found)} {language} blocks, this test knows one")
    return found[0]


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    page = (source / "docs/writing-a-plugin.md").read_text(encoding="utf-8")
    program = build / "bin" / "quench"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prefix = folder / "prefix"
        run = lambda *command: subprocess.run([str(word) for word in command], check=True)
        run("cmake", "--install", build, "--prefix", prefix, "--component", "Unspecified")
        (folder / "CMakeLists.txt").write_text(block(page, "cmake"))
        (folder / "my_rounding.cpp").write_text(PLUGIN.replace("@PARAMS@", block(page, "cpp")))
        run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", folder / "build")
        run(program, "plugins", "check", folder / "build/quantizers/my_rounding.so")
        model, text = source / "build/quickstart/step80", source / "build/quickstart/validation.txt"
        run(program, "eval", model, "--plugin-path", folder / "build", "--quantizer", "my_rounding:bits=3",
            "--metric", f"validation_loss:text={text},block=128")


main()
