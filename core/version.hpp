#pragma once

namespace quench {

// "0.1.0"
extern const char* const kVersion;

}  // namespace quench
