// Reads a Hugging Face config.json. Every key is either understood, known to have no effect,
// refused by name, or named in a warning, so that no setting that changes the mathematics goes
// unnoticed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/json.hpp"

namespace quench::decoder {

// The integer at the top-level key `key`. Throws INVALID_ARGUMENT if it is absent or outside
// [minimum, maximum].
int64_t required_size(const kit::Json& config, const std::string& key, int64_t minimum,
                      int64_t maximum);

// initializer_range; 0.02 if absent; INVALID_ARGUMENT outside [0, 1].
double initializer_range(const kit::Json& config);

// The value that all present places (JSON pointers) agree on, or nothing if none is present.
// INVALID_ARGUMENT names two that differ.
std::optional<double> agreed_number(const kit::Json& config, std::span<const char* const> places);

// Keys of the object at `at` that are not in `understood`, cleaned for a message. At the top level,
// keys that are known to have no effect or null are left out.
std::vector<std::string> unknown_keys(const kit::Json& config, const std::string& at,
                                      std::span<const std::string_view> understood);

// Throws UNSUPPORTED and names the keys of the object at `at` that are not in `understood`; at the
// top level only those that speak of the forward (known_keys.hpp). A null value always passes.
void refuse_unknown_keys(const kit::Json& config, const std::string& at,
                         std::span<const std::string_view> understood);

// Says in one warning which other keys of the top level nothing is known of. A family calls it
// where it opens a model, not where it is asked whether it can.
void tell_unknown_keys(const kit::Json& config, std::span<const std::string_view> understood);

// Limits that no real model reaches: beyond them a config is damaged.
inline constexpr int64_t kMaxBlocks = 1024;
inline constexpr int64_t kMaxExperts = int64_t{1} << 16;  // over all blocks; Kimi K2 has 23,040
inline constexpr int64_t kMaxWidth = int64_t{1} << 18;
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
inline constexpr int64_t kMaxPositions = int64_t{1} << 24;

}  // namespace quench::decoder
