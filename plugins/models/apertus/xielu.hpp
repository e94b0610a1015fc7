// The expanded integral of the exponential linear unit (Huang and Schlag 2024, arXiv 2411.13010).
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::apertus {

// Learnt per block: alpha_p and alpha_n [1], before their softplus. Constant: beta and eps.
struct Xielu {
  at::Tensor alpha_p;
  at::Tensor alpha_n;
  double beta;
  double eps;  // a little less than 0: expm1 is taken of min(x, eps)
};

// Of x [N, width], which is overwritten unless a AutogradScope is there:
//   x > 0:  a_p x^2 + beta x,                      a_p = softplus(alpha_p)
//   else:   a_n (expm1(min(x, eps)) - x) + beta x, a_n = beta + softplus(alpha_n)
at::Tensor apply(const Xielu& xielu, at::Tensor x);

}  // namespace quench::apertus
