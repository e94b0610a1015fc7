// The expanded integral of the exponential linear unit (Huang and Schlag 2024, arXiv 2411.13010).
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::apertus {

// alpha_p and alpha_n [1] are learned per block and stored before softplus; beta and eps are
// constant.
struct Xielu {
  at::Tensor alpha_p;
  at::Tensor alpha_n;
  double beta;
  double eps;  // slightly below 0: the argument of expm1 is min(x, eps)
};

// Applied to x [N, width]. Overwrites x unless an AutogradScope exists:
//   x > 0:  a_p x^2 + beta x,                      a_p = softplus(alpha_p)
//   else:   a_n (expm1(min(x, eps)) - x) + beta x, a_n = beta + softplus(alpha_n)
at::Tensor apply(const Xielu& xielu, at::Tensor x);

}  // namespace quench::apertus
