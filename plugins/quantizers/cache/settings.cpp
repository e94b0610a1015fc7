#include "quantizers/cache/settings.hpp"

#include "quantizers/cache/cache_format.hpp"
#include "quench/abi/kind/quantizer.h"
#include "quench/kit/error.hpp"

namespace quench::quantizers {

CacheSettings cache_settings(const CacheParameters& parameters) {
  const CacheSettings usual;
  return {parameters.cache.value_or(usual.format),
          parameters.cache_range.value_or(usual.range),
          parameters.cache_keys.value_or(usual.keys),
          parameters.cache_values.value_or(usual.values),
          parameters.cache_group_size.value_or(usual.group_size),
          parameters.cache_rotate.value_or(usual.rotate),
          parameters.cache_clip.value_or(usual.clip)};
}

uint32_t CacheSettings::needs() const {
  return acts() ? QUENCH_MAKES_CACHE_OP : 0;
}

void check_cache(const char* id, const CacheSettings& settings, const CacheParameters& parameters,
                 bool rows_are_float) {
  const auto expects = [&](bool holds, const char* what) {
    if (!holds) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s", id, what);
    }
  };
  expects(settings.rounds() ||
              (!parameters.cache_range && !parameters.cache_keys && !parameters.cache_values &&
               !parameters.cache_group_size && !parameters.cache_clip),
          "cache_* has no effect without cache; wanted a format");
  expects(!settings.acts() || !rows_are_float,
          "rounded keys and values reach later linears; wanted inputs = sequential or, where it is "
          "a choice, block");
  if (!settings.rounds()) {
    return;
  }
  const bool integers = is_integer_format(settings);
  expects(integers || !parameters.cache_range,
          "cache_range is of integers, and other formats are symmetric; wanted cache = int2 to "
          "int8");
  expects(!parameters.cache_clip || !integers || settings.range != "min_max",
          "cache_clip is of ranges with zero in them; wanted cache_range = with_zero or symmetric");
  const auto format = cache_format(settings);
  const bool by_channel = settings.keys == "channel" || settings.values == "channel";
  if (format->block() > 1 && by_channel) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "%s: cache = %s has scales for blocks of %lld numbers of a head; wanted cache_keys "
              "and cache_values = token",
              id, settings.format.c_str(), static_cast<long long>(format->block()));
  }
  if (settings.group_size % format->block() != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "%s: cache_group_size = %lld, wanted a multiple of the %lld numbers of a block of "
              "cache = %s",
              id, static_cast<long long>(settings.group_size),
              static_cast<long long>(format->block()), settings.format.c_str());
  }
}

}  // namespace quench::quantizers
