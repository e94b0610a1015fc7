// What a plugin may try against its user and the host.
#pragma once

#include <string>

namespace quench::test {

// Tries each attack once, from a worker, and names those that came to something: "kill, connect",
// or "nothing of 27". QUENCH_PREY is a folder of the user's with the file `secret`.
std::string attacks_that_succeed();

}  // namespace quench::test
