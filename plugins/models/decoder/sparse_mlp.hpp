// The arithmetic of a sparse mixture of experts (Shazeer et al. 2017, arXiv 1701.06538):
//
//   p = softmax(router x);  the `picks` largest p are the shares, divided by their sum on request
//   y = sum over the picks of share * down(silu(gate x) * up x)
//
// or, with a bias (DeepSeek-AI 2024, arXiv 2412.19437), p = 1 / (1 + exp(-router x)), of which the
// picks are those with the largest p + bias.
//
// N tokens, k picks each; row t*k + p of a tensor with N*k rows is pick p of token t.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "models/decoder/linear.hpp"

namespace quench::decoder {

struct Router {
  at::Tensor weight;  // [experts, width]
  at::Tensor bias;    // [experts]; undefined: shares of a softmax
};

struct ShareRule {
  bool sum_to_one;
  double scale;  // multiplies what comes out
};

struct Routing {
  at::Tensor experts;  // int32 [N*k, 1]
  at::Tensor shares;   // [N*k, 1] in the dtype of x
};

// x [N, width]. Likelihoods are at least float32, like the reference's. The choice of experts, and
// so the bias, has no derivative.
Routing route(const at::Tensor& x, const Router& router, int64_t picks, const ShareRule& rule);

// Which rows go to which expert.
class Routes {
 public:
  // `experts` as `route` returns it. Throws INVALID_ARGUMENT if one is outside [0, count).
  Routes(const at::Tensor& experts, int64_t count, int64_t picks);

  int64_t experts() const { return static_cast<int64_t>(ends_.size()) - 1; }
  // For expert e, ascending, int64: its rows among the N*k, and the tokens they belong to.
  at::Tensor rows(int64_t expert) const { return part(rows_, expert); }
  at::Tensor tokens(int64_t expert) const { return part(tokens_, expert); }
  // The rows of all experts, one expert after the other.
  const at::Tensor& order() const { return rows_; }
  bool none(int64_t expert) const { return begin(expert) == begin(expert + 1); }

 private:
  int64_t begin(int64_t expert) const { return ends_[static_cast<size_t>(expert)]; }
  at::Tensor part(const at::Tensor& all, int64_t expert) const;

  std::vector<int64_t> ends_;  // [experts + 1]: expert e has rows ends_[e] .. ends_[e+1]
  at::Tensor rows_;            // [N*k], expert by expert
  at::Tensor tokens_;
};

// A tensor [N*k, width] that is filled one expert at a time.
class ExpertRows {
 public:
  // Filled in place; inside an AutogradScope the rows are concatenated at the end instead.
  ExpertRows(const Routes& routes, at::Tensor memory)
      : routes_(routes), memory_(std::move(memory)) {}

  void put(int64_t expert, const at::Tensor& rows);
  at::Tensor all() const;

 private:
  const Routes& routes_;
  at::Tensor memory_;
  std::vector<at::Tensor> parts_;
};

// silu(gate x) * up x: reads one expert's rows of x [N, width], writes its rows of inner [N*k,
// inner].
void inside_expert(const Routes& routes, int64_t expert, const Linear& gate, const Linear& up,
                   const at::Tensor& x, ExpertRows& inner);

// y [N, width] plus share * down(inner) of one expert. Overwrites y unless an AutogradScope exists.
// Called for the experts in ascending order, it rounds like the reference.
at::Tensor add_expert(const Routes& routes, int64_t expert, const Linear& down,
                      const at::Tensor& inner, const at::Tensor& shares, at::Tensor y);

}  // namespace quench::decoder
