// Element types in which files keep quantized weights, and in which nothing is computed. What they
// stand for depends on scales beside them, so only formats read them.
#pragma once

#include "core/checkpoint/dtype.hpp"

namespace quench {

inline constexpr quench_dtype kFloat8E4M3{10, 8, 1};  // DLPack's kDLFloat8_e4m3fn; "F8_E4M3"

}  // namespace quench
