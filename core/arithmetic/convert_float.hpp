// Converts floating-point elements of any type to float64 and back.
#pragma once

#include <cstdint>

#include "quench/abi/tensor.h"

namespace quench {

// True for F64, F32, F16 and BF16.
bool is_floating(quench_dtype dtype);

// Converts `count` elements of a floating type to float64, exactly. Needs no alignment.
void to_float64(quench_dtype dtype, const void* elements, uint64_t count, double* values);

// The inverse; rounds once, to nearest even, and turns values that are too large into infinity.
void from_float64(const double* values, uint64_t count, quench_dtype dtype, void* elements);

}  // namespace quench
