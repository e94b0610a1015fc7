// Factorizes the Hessian of a group in the form that factor.hpp describes: J H J = L L' and U = J
// L^-1 J, with the rows and columns of H in the order of quantization and J reversing them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace quench::quantizers {

class Decomposition {
 public:
  virtual ~Decomposition() = default;
  // Finds L for `perm` and a diagonal, in original order, in place of H's own. False if H is not
  // positive definite with it: of a pivot at most n * epsilon times its diagonal element is left.
  virtual bool run(const std::vector<double>& diagonal, const std::vector<int32_t>& perm) = 0;
  // U [n, n] float64, once, after a run that succeeded.
  virtual at::Tensor upper() = 0;
};

// Both of H = scale * gram. The first computes in host memory, in one order for any number of
// threads (cholesky.hpp). The second computes where `gram` is by libtorch, on a GPU by cuSOLVER,
// and throws NUMERICAL if the result, multiplied out on a few vectors, is not what was factorized.
std::unique_ptr<Decomposition> decompose_on_host(const at::Tensor& gram, double scale);
std::unique_ptr<Decomposition> decompose_by_libtorch(const at::Tensor& gram, double scale);

// The first for a matrix in host memory, the second for one on a GPU.
std::unique_ptr<Decomposition> decompose_where_it_is(const at::Tensor& gram, double scale);

}  // namespace quench::quantizers
