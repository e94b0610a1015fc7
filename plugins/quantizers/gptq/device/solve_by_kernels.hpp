// GPTQ on one weight by the kernels of the column loop, in the memory where the weight is.
#pragma once

#include "quantizers/gptq/solver.hpp"

namespace quench::quantizers {

// What solve() does for a weight [out, in] on a GPU, by kernels.so; of one in host memory, as loops
// on the host, so that a test runs what a GPU is given. The parts of `factor` may be in either
// memory. Throws INVALID_ARGUMENT for a block that is wider than the kernels can take.
double solve_by_kernels(const at::Tensor& weight, const Factor& factor,
                        const SolverOptions& options, const Coded& coded);

// The same without codes: writes the dequantized weight, on the device and of the weight's type.
// `name` is the linear's, for errors.
double solve_by_kernels_into(const at::Tensor& weight, const Factor& factor,
                             const SolverOptions& options, const at::Tensor& dequantized,
                             const char* name);

// The same to options.format, whose scales a kernel must find (number_format/format_numbers.hpp);
// the two above take none.
SolvedThere solve_to_format_by_kernels(const at::Tensor& weight, const Factor& factor,
                                       const SolverOptions& options);

}  // namespace quench::quantizers
