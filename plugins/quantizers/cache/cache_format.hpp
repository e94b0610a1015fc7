// The formats of keys and values: those of inputs (inputs/format.hpp), and integers between the
// extremes of what shares a scale.
#pragma once

#include <memory>

#include "quantizers/cache/settings.hpp"
#include "quantizers/inputs/format.hpp"

namespace quench::quantizers {

bool is_integer_format(const CacheSettings& settings);

// Whether the range that the format is given begins at the least value; else zero is in it.
bool takes_extremes(const CacheSettings& settings);

// Of settings that round.
std::unique_ptr<ActivationFormat> cache_format(const CacheSettings& settings);

}  // namespace quench::quantizers
