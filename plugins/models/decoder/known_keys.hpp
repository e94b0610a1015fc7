// What is known of the keys of a config.json that no family reads.
#pragma once

#include <span>
#include <string_view>

#include "quench/kit/json.hpp"

namespace quench::decoder {

// A key on which neither ids nor weights nor the loss of a text depend.
struct KnownKey {
  std::string_view name;
  std::string_view why;
  bool only_off = false;  // that holds for null, false, "none" and what is empty alone
};

// Sorted by name.
std::span<const KnownKey> keys_without_effect();

// Whether the key at the top level is one of them, and its value one for which that holds. A null
// value always is.
bool is_without_effect(const kit::Json& config, std::string_view key);

// Whether an unknown key speaks of a part of the forward (norms, positions, attention, scales, ...)
// and does not say that it is off, or switches off what every family has. Such a key might change
// what the model computes, whatever its writer meant.
bool speaks_of_the_forward(const kit::Json& config, std::string_view key);

}  // namespace quench::decoder
