// Comparing tensors in tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace quench::test {

// As doubles, in C order.
std::vector<double> doubles(const at::Tensor& tensor);

// Equal in dtype, shape and every bit.
bool identical(const at::Tensor& a, const at::Tensor& b);

// Largest difference in magnitude; infinite when a value is not finite or sizes differ.
double distance(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace quench::test
