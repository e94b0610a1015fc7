#include "formats/shared/tensor_info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace quench::formats {

std::string dtype_name(quench_dtype dtype) {
  const char* prefix = dtype.code == QUENCH_DTYPE_FLOAT    ? "F"
                       : dtype.code == QUENCH_DTYPE_BFLOAT ? "BF"
                       : dtype.code == QUENCH_DTYPE_INT    ? "I"
                       : dtype.code == QUENCH_DTYPE_UINT   ? "U"
                                                           : nullptr;
  if (dtype.code == QUENCH_DTYPE_BOOL) {
    return "BOOL";
  }
  if (same_dtype(dtype, kFloat8E4M3)) {
    return "F8_E4M3";
  }
  return prefix != nullptr ? prefix + std::to_string(dtype.bits) : kit::name_of(dtype);
}

bool is_floating(quench_dtype dtype) {
  return same_dtype(dtype, kFloat64) || same_dtype(dtype, kFloat32) ||
         same_dtype(dtype, kFloat16) || same_dtype(dtype, kBFloat16);
}

std::optional<uint64_t> element_count(const std::vector<int64_t>& shape) {
  uint64_t product = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    empty |= size == 0;
    if (size < 0 ||
        (size > 0 && (__builtin_mul_overflow(product, static_cast<uint64_t>(size), &product) ||
                      product > INT64_MAX))) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace quench::formats
