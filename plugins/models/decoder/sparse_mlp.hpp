// The arithmetic of a sparse mixture of experts (Shazeer et al. 2017, arXiv 1701.06538):
//
//   p = softmax(router x);  the `picks` largest of p are the shares, divided by their sum if asked
//   y = sum over the picks of share * down(silu(gate x) * up x)
//
// N tokens, k picks each; row t*k + p of a tensor with N*k rows is pick p of token t.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoder/linear.hpp"

namespace quench::decoder {

// x [N, width], router [experts, width] -> experts int32 [N*k, 1], shares [N*k, 1] in x's dtype.
// The softmax is float32 at least, as in the reference.
void route(const at::Tensor& x, const at::Tensor& router, bool sum_to_one,
           const at::Tensor& experts, const at::Tensor& shares);

// Which rows go to which expert.
class Routes {
 public:
  // `experts` as `route` made it. INVALID_ARGUMENT when one is outside [0, count).
  Routes(const at::Tensor& experts, int64_t count, int64_t picks);

  int64_t experts() const { return static_cast<int64_t>(ends_.size()) - 1; }
  // Of expert e, ascending, int64: rows among N*k, and the tokens that they belong to.
  at::Tensor rows(int64_t expert) const { return part(rows_, expert); }
  at::Tensor tokens(int64_t expert) const { return part(tokens_, expert); }
  bool none(int64_t expert) const { return begin(expert) == begin(expert + 1); }

 private:
  int64_t begin(int64_t expert) const { return ends_[static_cast<size_t>(expert)]; }
  at::Tensor part(const at::Tensor& all, int64_t expert) const;

  std::vector<int64_t> ends_;  // [experts + 1]: expert e has ends_[e] .. ends_[e+1]
  at::Tensor rows_;            // [N*k], expert by expert
  at::Tensor tokens_;
};

// silu(gate x) * up x of one expert's rows of x [N, width] into those of inner [N*k, width inside].
void inside_expert(const Routes& routes, int64_t expert, const Linear& gate, const Linear& up,
                   const at::Tensor& x, const at::Tensor& inner);

// Adds share * down(inner) of one expert to y [N, width]. Called expert by expert in ascending
// order, it rounds as the reference does.
void add_expert(const Routes& routes, int64_t expert, const Linear& down, const at::Tensor& inner,
                const at::Tensor& shares, const at::Tensor& y);

}  // namespace quench::decoder
