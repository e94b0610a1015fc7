// How near a config of another architecture comes to a family, and what differs: so that a model
// that nobody opens is refused with more than its name.
#pragma once

#include <span>
#include <string_view>

#include "quench/kit/host.hpp"
#include "quench/kit/model.hpp"

namespace quench::decoder {

// What a family looks at in a config.
struct FamilyKeys {
  std::string_view model_type;
  std::span<const std::string_view> understood;  // keys of its configs
  std::span<const std::string_view> required;    // of them, those that are always there
  std::span<const std::string_view> own;         // of them, those that only this family has
};

// -1..-99 and what differs; 0 when the config has nothing in common with the family's. For some
// architectures that are known to differ more than their keys tell, it says what is known.
kit::Fit nearness(const kit::Json& config, const FamilyKeys& family);

}  // namespace quench::decoder
