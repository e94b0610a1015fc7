// The promises of plugins of every kind.
#pragma once

#include <span>

#include "promises/promise.hpp"

namespace quench::promises {

std::span<const Promise> loading_promises();

}  // namespace quench::promises
