// The files of the libraries whose code runs: one that is written in place is another code from
// then on, under the name in the keys that the old one has.
#pragma once

#include <string>

#include "core/base/io/file.hpp"

namespace quench {

// Says that this file is mapped, here or in a process of a plugin's own. `file`: as it was when it
// was hashed; `label`: "quantizer rtn", for messages. [thread-safe]
void note_running_code(const std::string& label, const File& file, const std::string& sha256);

// Throws Error(UNAVAILABLE) naming the plugin if one of the files has other bytes now. A file that
// took its name, or a removed one, is no fault: what is mapped stays. Costs one look at each file.
// Throws Error(INTERNAL) from the moment on at which a plugin in this process, which only a user
// can have kept there, has left another rounding mode or the like.
// Call it before what plugins computed is stored under a key. [thread-safe]
void check_running_code();

}  // namespace quench
