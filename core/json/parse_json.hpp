// Foreign JSON, read strictly. The library's own reader takes the last of two equal keys, has no
// limit of depth or size, and copies of a value nested 10^5 deep overflow the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace quench {

struct JsonLimits {
  size_t max_bytes = size_t{256} << 20;
  size_t max_depth = 64;
  size_t max_values = size_t{16} << 20;
};

// Parses one JSON document. `name` (a file path) begins every message, with line and column.
// Refused: duplicate keys, NaN and Infinity, numbers outside double, invalid UTF-8, anything after
// the document, more than `limits` allows. An integer that fits 64 bits is kept exactly; a longer
// one becomes a double, so that asking it for an integer fails instead of wrapping.
// Throws Error(INVALID_ARGUMENT).
nlohmann::json parse_json(std::string_view text, const std::string& name,
                          const JsonLimits& limits = {});

// The value as an integer; nothing is converted (the library turns -1 into 1.8e19 and 1.9 into 1).
// `where` names the value in the message, `file: key`. Throws Error(INVALID_ARGUMENT).
int64_t json_integer(const nlohmann::json& value, const std::string& where);
uint64_t json_unsigned(const nlohmann::json& value, const std::string& where);

}  // namespace quench
