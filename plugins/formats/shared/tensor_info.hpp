// Element types under the names that safetensors uses, and shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quench/abi/tensor.h"
#include "quench/kit/format.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::formats {

using kit::kBFloat16;
using kit::kFloat16;
using kit::kFloat32;
using kit::kFloat64;
using kit::kInt32;
using kit::kInt64;
using kit::kUInt8;
inline constexpr quench_dtype kInt16{QUENCH_DTYPE_INT, 16, 1};
inline constexpr quench_dtype kInt8{QUENCH_DTYPE_INT, 8, 1};
inline constexpr quench_dtype kBool{QUENCH_DTYPE_BOOL, 8, 1};
inline constexpr quench_dtype kFloat8E4M3{10, 8, 1};  // DLPack's kDLFloat8_e4m3fn

using TensorInfo = kit::CheckpointTensor;

inline bool same_dtype(quench_dtype a, quench_dtype b) {
  return kit::same(a, b);
}
inline uint64_t dtype_size(quench_dtype dtype) {
  return static_cast<uint64_t>(kit::bytes_of(dtype));
}
// "F32"
std::string dtype_name(quench_dtype dtype);
// F64, F32, F16 or BF16.
bool is_floating(quench_dtype dtype);

// Product of the shape (1 for a scalar, 0 with an empty dimension), or nothing when a dimension is
// negative or the product does not fit 63 bits, in whatever order they stand.
std::optional<uint64_t> element_count(const std::vector<int64_t>& shape);
// "[2, 3]"
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace quench::formats
