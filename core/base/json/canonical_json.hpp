// One spelling per JSON value, for keys that are hashed and for records.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quench {

// Sorts keys by bytes and writes no spaces. Writes each double in the shortest form that reads back
// the same, always with '.' or 'e' (1.0 is "1.0", the integer 1 is "1"), in any locale. Throws
// Error(INVALID_ARGUMENT) for NaN, infinities, binary values and strings that are not UTF-8.
std::string canonical_json(const nlohmann::json& value);

}  // namespace quench
