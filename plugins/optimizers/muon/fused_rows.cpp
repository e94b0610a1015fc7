#include "optimizers/muon/fused_rows.hpp"

#include <ATen/core/grad_mode.h>

#include "optimizers/muon/orthogonalize.hpp"
#include "quench/kit/error.hpp"

namespace quench::optimizers {

FusedRows fused_rows(const std::string& name, int64_t rows, int64_t parts, int64_t together) {
  const int64_t turn = parts * (together > 0 ? together : 1);
  if (rows % turn != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "split: %s has %lld rows, wanted a multiple of split_parts%s, %lld", name.c_str(),
              static_cast<long long>(rows), together > 0 ? " times split_rows" : "",
              static_cast<long long>(turn));
  }
  return {parts, together > 0 ? together : rows / parts};
}

void orthogonalize_parts(const at::Tensor& matrix, const FusedRows& fused, int64_t iterations) {
  if (fused.parts == 1) {
    return orthogonalize(matrix, iterations);
  }
  const at::NoGradGuard no_gradients;
  const int64_t columns = matrix.size(1);
  const at::Tensor turns = matrix.view({-1, fused.parts, fused.together, columns});
  for (int64_t part = 0; part < fused.parts; ++part) {
    const at::Tensor own = turns.select(1, part);
    const at::Tensor whole = own.clone(at::MemoryFormat::Contiguous).view({-1, columns});
    orthogonalize(whole, iterations);
    own.copy_(whole.view(own.sizes()));
  }
}

}  // namespace quench::optimizers
