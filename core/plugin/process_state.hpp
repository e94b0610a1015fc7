// State of the whole process that a plugin must leave alone: the current folder, the locale, the
// handlers and the mask of signals, the umask. A change would affect where the host writes, how it
// reads numbers and whether it can be stopped.
#pragma once

#include <string>

namespace quench {

// Saves the current state as the host's. Call it once, before the first library is loaded.
void keep_process_state();

// Restores what differs from the saved state. Returns "the current folder is now /, wanted
// /home/a", or "" if nothing changed or nothing was saved. Takes some microseconds: for calls that
// compute. restore_whole_process_state() handles the umask, which can only be read by changing it
// or from a file.
std::string restore_process_state();
std::string restore_whole_process_state();

}  // namespace quench
