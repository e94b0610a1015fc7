// A hand-made GPT-NeoX model with random weights, and its forward in plain float64 loops.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/memory_source.hpp"

namespace quench::test {

struct TinyModel {
  int64_t blocks = 2;
  int64_t width = 24;
  int64_t heads = 3;
  int64_t inner = 40;
  int64_t vocabulary = 37;
  int64_t positions = 64;
  double rotary_part = 0.5;
  double theta = 10000.0;
  double eps = 1e-5;
  double embedding_spread = 1.0;
  bool parallel = true;
  bool attention_bias = true;
  bool tied = false;
  std::map<std::string, std::vector<double>> weights = {};  // by name without "gpt_neox."
  std::map<std::string, std::vector<int64_t>> shapes = {};

  // Draws every weight; values are multiples of 2^-10 of few digits, so float32 holds them exactly.
  TinyModel& draw();

  std::string config() const;
  // Adds the weights to `source` under the names of a causal model's files.
  void store(MemorySource& source, quench_dtype dtype) const;

  // Logits [N, vocabulary] of rows at positions 0..T-1.
  std::vector<double> logits(const Tokens& tokens) const;
};

// Ids that use the whole vocabulary, in a fixed order.
Tokens some_tokens(const TinyModel& model, int64_t rows, int64_t length);

}  // namespace quench::test
