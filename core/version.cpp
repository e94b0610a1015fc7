#include "core/version.hpp"

namespace quench {

const char* const kVersion = QUENCH_VERSION;

}  // namespace quench
