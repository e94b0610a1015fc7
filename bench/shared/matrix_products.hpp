// What bench/shared/matrix.cpp measures, apart: libtorch brings headers of another fmt than the
// host's.
#pragma once

#include "quench/abi/host.h"

namespace quench::bench {

// Prints, for each class of shapes, the rate of our products and libtorch's on `threads` threads,
// and what one tile reaches whose operands stay in the first-level cache.
void print_matrix_products(const quench_host* host, const char* form, int threads);

}  // namespace quench::bench
