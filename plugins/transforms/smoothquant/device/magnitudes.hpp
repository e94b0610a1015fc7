// The largest magnitudes of input channels, of rows on a device.
#pragma once

#include <vector>

#include "quench/abi/kind/quantizer.h"

namespace quench::transforms {

// Whether libtorch's operations take these rows; those in host memory are read by plain loops.
bool on_device(const quench_tensor& rows);

// The largest |x_c| of the rows [N, in] that args.row_index names, or of all; 0 without rows. The
// same values as on the host, for a maximum does not depend on an order. Throws NUMERICAL with row
// and column for NaN and Inf, and UNSUPPORTED in a build without libtorch.
std::vector<double> largest_on_device(const quench_observe_args& args);

}  // namespace quench::transforms
