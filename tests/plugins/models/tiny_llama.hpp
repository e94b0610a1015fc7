// A hand-made model of Llama's layout with random weights, and its forward in plain float64 loops,
// written from the papers' formulas and apart from the code under test.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/memory_source.hpp"

namespace quench::test {

struct TinyLlama {
  std::string model_type = "llama";
  int64_t blocks = 2;
  int64_t width = 24;
  int64_t heads = 4;
  int64_t kv_heads = 4;
  int64_t head = 6;
  int64_t inner = 40;
  int64_t vocabulary = 37;
  int64_t positions = 64;
  double theta = 10000.0;
  double eps = 1e-5;
  double embedding_spread = 1.0;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tied = false;
  bool layer_norm_without_weights = false;  // else RMS norms
  bool norm_after_branch = false;
  int64_t head_norm = 0;    // elements of q and of k that are normalized together: 0, head, or all
  double clip = 0.0;        // of q, k, v, behind the norm; 0: none
  bool xielu = false;       // and no gate
  double xielu_beta = 0.5;  // its constants, stored where they are not these
  double xielu_eps = -1e-6;
  int64_t experts = 0;            // gated MLPs that a router chooses from; 0: one MLP
  int64_t picks = 0;              // of them for each token
  bool sum_to_one = false;        // the shares of the chosen
  bool llama3 = false;            // rotary scaling with factor 8, low 1, high 4, of 16 positions
  std::vector<int> rotated = {};  // of each block; empty: all
  std::string attention_norm = "input_layernorm";
  std::string mlp_norm = "post_attention_layernorm";
  nlohmann::json more = nlohmann::json::object();           // further keys of the config
  std::map<std::string, std::vector<double>> weights = {};  // by name in files
  std::map<std::string, std::vector<int64_t>> shapes = {};

  // Draws every weight; values are multiples of 2^-10 of few digits, so float32 holds them exactly.
  TinyLlama& draw();

  nlohmann::json config() const;
  void store(MemorySource& source, quench_dtype dtype = kit::kFloat32) const;

  // Ids that use the whole vocabulary, in a fixed order.
  Tokens some_tokens(int64_t rows, int64_t length) const;
  // Logits [N, vocabulary] of rows at positions 0..T-1.
  std::vector<double> logits(const Tokens& tokens) const;

 private:
  void draw_tensor(const std::string& name, std::vector<int64_t> shape, double center,
                   double spread);
  void draw_mlp(const std::string& at);
  void draw_linear(const std::string& name, int64_t out, int64_t in, bool bias);
};

}  // namespace quench::test
