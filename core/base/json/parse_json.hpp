// Strict reading of foreign JSON. The library's own reader takes the last of two equal keys, limits
// neither depth nor size, and overflows the stack when it copies a value nested 10^5 deep.
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

// Parses one JSON document. Every message begins with `name` (a file path), line and column.
// Refuses duplicate keys, NaN and Infinity, numbers outside double, invalid UTF-8, anything after
// the document, and whatever exceeds `limits`. Keeps an integer that fits 64 bits exactly; reads a
// longer one as a double, so that a caller who asks for an integer gets an error instead of a
// wrapped value. Throws Error(INVALID_ARGUMENT).
nlohmann::json parse_json(std::string_view text, const std::string& name,
                          const JsonLimits& limits = {});

// The value as an unsigned integer, never converted (the library turns -1 into 1.8e19 and 1.9 into
// 1). `where` names the value in the message: `file: key`. Throws Error(INVALID_ARGUMENT).
uint64_t json_unsigned(const nlohmann::json& value, const std::string& where);

}  // namespace quench
