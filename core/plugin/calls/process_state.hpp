// State of the process that a plugin must leave alone: how its threads round, the current folder,
// the locale, the handlers and the mask of signals. A worker looks at it after each call, because
// the next one would compute in what this one left. The host does not: a plugin that came with the
// program leaves it alone by test (tests/contract).
#pragma once

#include <string>

namespace quench {

// Keeps the current state, in place of one that was kept before. Call it before a library is
// loaded.
void keep_process_state();

// "the current folder is now /, wanted /home/a": what differs from the state that was kept; "" if
// nothing does. Takes some microseconds.
std::string process_state_changes();

}  // namespace quench
