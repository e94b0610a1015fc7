// How close a config of another architecture is to a family, and how it differs, so that the
// refusal of a model says more than its name.
#pragma once

#include <span>
#include <string_view>

#include "quench/kit/json.hpp"
#include "quench/kit/model.hpp"

namespace quench::decoder {

// The keys that a family reads from a config.
struct FamilyKeys {
  std::string_view model_type;
  std::span<const std::string_view> understood;  // all keys of its configs
  std::span<const std::string_view> required;    // those of them that are always there
  std::span<const std::string_view> own;         // those of them that only this family has
};

// -1..-99 with the differences, or 0 if the config has nothing in common with the family. For some
// architectures that differ in more than their keys, it says what is known.
kit::Fit nearness(const kit::Json& config, const FamilyKeys& family);

}  // namespace quench::decoder
