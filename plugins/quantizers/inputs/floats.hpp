// The floating-point formats of plugins/shared/number_formats.
#pragma once

#include "quantizers/inputs/format.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

// `format` lasts as long as what is returned.
std::unique_ptr<ActivationFormat> floats(const number_formats::NumberFormat& format);

}  // namespace quench::quantizers
