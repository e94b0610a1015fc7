// How keys and values are rounded before tokens read them: parameters that several quantizers have,
// none of them set by default, so that settings without them have the keys that they had before
// these were there.
//
//   struct Params : ActivationParameters, CacheParameters {
//     static void describe(kit::Fields<Params>& fields) { ...; add_cache(fields); }
//   };
//   cache_settings(params)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quantizers/inputs/settings.hpp"
#include "quench/kit/parameters.hpp"

namespace quench::quantizers {

// What they come to.
struct CacheSettings {
  std::string format = "float";
  std::string range = "min_max";
  std::string keys = "token";
  std::string values = "token";
  int64_t group_size = 32;
  std::string rotate = "none";
  double clip = 1;

  bool rounds() const { return format != "float"; }
  // Whether there is an op: one that rotates and rounds nothing is a control.
  bool acts() const { return rounds() || rotates_keys(); }
  bool rotates_keys() const { return rotate != "none"; }
  bool rotates_values() const { return rotate == "both"; }
  uint32_t needs() const;  // QUENCH_MAKES_CACHE_OP, if they act
};

struct CacheParameters {
  std::optional<std::string> cache;
  std::optional<std::string> cache_range;
  std::optional<std::string> cache_keys;
  std::optional<std::string> cache_values;
  std::optional<int64_t> cache_group_size;
  std::optional<std::string> cache_rotate;
  std::optional<double> cache_clip;
};

CacheSettings cache_settings(const CacheParameters& parameters);

template <typename Params>
void add_cache(kit::Fields<Params>& fields) {
  fields
      .template add<std::optional<std::string>>(
          "cache", &Params::cache,
          "format to which keys and values are rounded before tokens read them; float, as if not "
          "set: they stay as they are")
      .choices(activation_choices());
  fields
      .template add<std::optional<std::string>>(
          "cache_range", &Params::cache_range,
          "range of integers of keys and values: from the least to the largest of those that share "
          "a scale (min_max, as if not set), the same with zero in it and an integer zero point "
          "(with_zero), or symmetric")
      .choices("min_max|with_zero|symmetric");
  fields
      .template add<std::optional<std::string>>(
          "cache_keys", &Params::cache_keys,
          "keys that share a scale: numbers of one head of a token (as if not set), or of "
          "consecutive tokens in one channel of a head")
      .choices("token|channel");
  fields
      .template add<std::optional<std::string>>("cache_values", &Params::cache_values,
                                                "values that share a scale, likewise")
      .choices("token|channel");
  fields
      .template add<std::optional<int64_t>>(
          "cache_group_size", &Params::cache_group_size,
          "how many share a scale: of a head's numbers, whose count it must divide, or of tokens, "
          "where the last may be fewer; 32 if not set")
      .at_least(1);
  fields
      .template add<std::optional<std::string>>(
          "cache_rotate", &Params::cache_rotate,
          "what is multiplied by a Hadamard matrix, head by head, before it is rounded, and by its "
          "inverse afterwards: keys, keys and values (both), or none, as if not set")
      .choices("none|keys|both");
  fields
      .template add<std::optional<double>>(
          "cache_clip", &Params::cache_clip,
          "factor on both ends of a range that has zero in it; 1 if not set")
      .range(0.1, 1);
}

// Throws INVALID_ARGUMENT with the plugin's `id` for settings that contradict each other.
// `rows_are_float`: whether the quantizer observes the float model's rows.
void check_cache(const char* id, const CacheSettings& settings, const CacheParameters& parameters,
                 bool rows_are_float = false);

}  // namespace quench::quantizers
