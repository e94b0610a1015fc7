// What the whole process shares and a plugin has no business with: the current folder, the locale,
// the handlers and the mask of signals, the umask. A plugin that leaves it changed would change
// where the host writes, how it reads numbers and whether it can be stopped.
#pragma once

#include <string>

namespace quench {

// Remembers the state of now as the host's. Called once, before the first library is loaded.
void keep_process_state();

// Sets back what is not as it was kept. "the current folder is now /, wanted /home/a", or "" where
// nothing was changed, or nothing was kept. Some microseconds: for calls that compute. The umask,
// which can only be asked for by changing it or by reading a file, is left to
// restore_whole_process_state().
std::string restore_process_state();
std::string restore_whole_process_state();

}  // namespace quench
