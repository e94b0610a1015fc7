// Writes text as YAML that the reader here gives back as it was.
#pragma once

#include <string>

namespace quench {

// A double-quoted scalar on one line. Throws Error(INVALID_ARGUMENT) for text that is not UTF-8,
// as names of files may be.
std::string double_quoted(const std::string& text);

}  // namespace quench
