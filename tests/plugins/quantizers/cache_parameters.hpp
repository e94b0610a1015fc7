// Parameters of rounded keys and values from JSON, as a manifest has them.
#pragma once

#include <nlohmann/json.hpp>

#include "quantizers/cache/settings.hpp"

namespace quench::test {

inline quantizers::CacheParameters cache_parameters(const nlohmann::json& given) {
  quantizers::CacheParameters out;
  const auto read = [&](const char* name, auto& to) {
    if (given.contains(name)) {
      to = given.at(name).get<typename std::decay_t<decltype(to)>::value_type>();
    }
  };
  read("cache", out.cache);
  read("cache_range", out.cache_range);
  read("cache_keys", out.cache_keys);
  read("cache_values", out.cache_values);
  read("cache_group_size", out.cache_group_size);
  read("cache_rotate", out.cache_rotate);
  read("cache_clip", out.cache_clip);
  return out;
}

}  // namespace quench::test
