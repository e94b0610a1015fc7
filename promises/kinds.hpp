// The promises of each kind.
#pragma once

#include <span>

#include "promises/promise.hpp"

namespace quench::promises {

std::span<const Promise> quantizer_promises();

}  // namespace quench::promises
