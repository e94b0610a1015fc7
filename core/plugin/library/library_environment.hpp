// What a process sets before it loads libraries that compute.
#pragma once

namespace quench {

// Call before the first library that may bring an OpenMP runtime, MKL or its own kernels. They get
// one thread, whatever the run has, because their number of threads decides where they split a sum
// or a loop, and therefore the bits; the run's threads are those of parallel_for, whose ranges
// depend only on shapes. Kernels use the run's instruction set.
void prepare_libraries();

}  // namespace quench
