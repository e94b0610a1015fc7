#!/usr/bin/env python3
"""Builds the code of docs/writing-a-plugin.md: its CMake file, its Params and how a file is opened, in a plugin outside the tree.

usage: build_guide.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PLUGIN = """
#include <cmath>
#include "quench/kit/quantizer.hpp"
@INCLUDES@
namespace kit = quench::kit;
struct Named {
  struct { std::string path; } codebook;
};
[[maybe_unused]] static std::string opened(const Named& params) {
  @INPUT@
  return text;
}
struct MyRounding : kit::Quantizer {
  @PARAMS@
  explicit MyRounding(const Params&) {}
  struct Group : kit::QuantizerGroup {
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
      const std::vector<double> weight = kit::to_doubles(linear.weight, "weight");
      for (const double value : weight) {
        if (!std::isfinite(value)) {
          kit::fail(QUENCH_NUMERICAL, "%s: a weight is %g", linear.info.weight, value);
        }
      }
      kit::from_doubles(weight, linear.dequantized, "dequantized");
      sink.number("bits_per_weight", 32);
    }
  };
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override { return std::make_unique<Group>(); }
};
QUENCH_MODULE("guide", "0.1.0", kit::quantizer<MyRounding>({.id = "my_rounding", .version = "0.1.0", .summary = "A test."}))
"""

# Two steps of training make a model for the plugin to work on.
MODEL = """
name: model
checkpoints: {model: train}
train:
  model: {model_type: gpt_neox, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, num_attention_heads: 2,
          vocab_size: 256, max_position_embeddings: 32, rotary_pct: 0.5, use_parallel_residual: true, hidden_act: gelu}
  corpus: text
  tokenizer: bytes
  optimizer: adamw
  lr: {schedule: constant, peak: 1e-3, warmup: 1}
  batch: 2
  length: 32
  steps: 2
  branch: only
  every: 2
metrics:
  - validation_loss: {corpus: text, block: 32}
corpora:
  text: {text: {path: guide.txt}}
"""


def blocks(page, language, count):
    found = re.findall(rf"```{language}\n(.*?)```", page, re.S)
    if len(found) != count:
        sys.exit(f"writing-a-plugin.md: {len(found)} {language} blocks, this test knows {count}")
    return found


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    page = (source / "docs/writing-a-plugin.md").read_text(encoding="utf-8")
    program = build / "bin" / "quench"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prefix = folder / "prefix"
        environment = {**os.environ, "QUENCH_HOME": f"{folder}/home"}
        run = lambda *command: subprocess.run([str(word) for word in command], check=True, env=environment)
        run("cmake", "--install", build, "--prefix", prefix, "--component", "Unspecified")
        (folder / "CMakeLists.txt").write_text(*blocks(page, "cmake", 1))
        params, opening = blocks(page, "cpp", 2)
        includes, opening = opening.split("\n\n", 1)
        code = PLUGIN.replace("@PARAMS@", params).replace("@INCLUDES@", includes).replace("@INPUT@", opening)
        (folder / "my_rounding.cpp").write_text(code)
        run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", folder / "build")
        run(program, "plugins", "check", folder / "build/quantizers/my_rounding.so")
        (folder / "guide.txt").write_text(page)
        (folder / "model.yaml").write_text(MODEL)
        run(program, "run", folder / "model.yaml", "--out", folder / "run")
        run(program, "eval", folder / "run/checkpoints/only/step2", "--plugin-path", folder / "build",
            "--quantizer", "my_rounding:bits=3",
            "--metric", f"validation_loss:text={folder / 'guide.txt'},block=32")


main()
