// Element types by their safetensors names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quench/abi/tensor.h"

namespace quench {

inline constexpr quench_dtype kFloat64{QUENCH_DTYPE_FLOAT, 64, 1};
inline constexpr quench_dtype kFloat32{QUENCH_DTYPE_FLOAT, 32, 1};
inline constexpr quench_dtype kFloat16{QUENCH_DTYPE_FLOAT, 16, 1};
inline constexpr quench_dtype kBFloat16{QUENCH_DTYPE_BFLOAT, 16, 1};
inline constexpr quench_dtype kInt64{QUENCH_DTYPE_INT, 64, 1};
inline constexpr quench_dtype kInt32{QUENCH_DTYPE_INT, 32, 1};
inline constexpr quench_dtype kInt16{QUENCH_DTYPE_INT, 16, 1};
inline constexpr quench_dtype kInt8{QUENCH_DTYPE_INT, 8, 1};
inline constexpr quench_dtype kUInt8{QUENCH_DTYPE_UINT, 8, 1};
inline constexpr quench_dtype kBool{QUENCH_DTYPE_BOOL, 8, 1};

bool same_dtype(quench_dtype a, quench_dtype b);

// Bytes per element.
uint64_t dtype_size(quench_dtype dtype);

// "F32"; shows a type outside the table by its numbers.
std::string dtype_name(quench_dtype dtype);

// The type named `name`. Throws Error(UNSUPPORTED) for names that safetensors defines and quench
// does not read, Error(INVALID_ARGUMENT) for all others; messages begin with `where`.
quench_dtype dtype_from_name(std::string_view name, const std::string& where);

}  // namespace quench
