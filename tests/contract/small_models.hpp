// A model of a few thousand weights for each family that the contract runs on.
#pragma once

#include <string>

#include "promises/candidate.hpp"

namespace quench::test {

using promises::SmallModel;

// The small model of family `id`; throws std::runtime_error where there is none yet.
SmallModel small_model(const std::string& id);

}  // namespace quench::test
