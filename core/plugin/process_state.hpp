// State of the whole process that a plugin must leave alone: the current folder, the locale, the
// handlers and the mask of signals. A worker looks at it after each call, because the next one
// would compute in what this one left. The host does not: a plugin that came with the program
// leaves it alone by test (tests/contract).
#pragma once

#include <string>

namespace quench {

// Saves the current state. Call it once, before the first library is loaded.
void keep_process_state();

// Restores what differs from the saved state. Returns "the current folder is now /, wanted
// /home/a", or "" if nothing changed or nothing was saved. Takes some microseconds.
std::string restore_process_state();

}  // namespace quench
