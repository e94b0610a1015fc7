// Floating-point elements of any type to float64 and back.
#pragma once

#include <cstdint>

#include "quench/abi/tensor.h"

namespace quench {

// F64, F32, F16 or BF16.
bool is_floating(quench_dtype dtype);

// `count` elements of a floating type as float64; exact. Elements need no alignment.
void to_float64(quench_dtype dtype, const void* elements, uint64_t count, double* values);

// The other way, rounded once, to nearest even; what is too large becomes infinite.
void from_float64(const double* values, uint64_t count, quench_dtype dtype, void* elements);

}  // namespace quench
