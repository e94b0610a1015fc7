#pragma once

#include "core/base/config/yaml.hpp"

namespace quench {

// A value of a manifest and where it is written, for errors that only later steps can find.
template <typename T>
struct Written {
  T value{};
  Place place;  // empty where the manifest does not give it
};

}  // namespace quench
