// Arrow values as JSON.
#pragma once

#include <arrow/array.h>

#include <cstdint>
#include <string>

namespace quench::corpora {

// Appends value `row` of `array`: null, booleans, integers, floats (shortest text that reads back
// equal), strings, lists, structs, dictionary-encoded values. UNSUPPORTED names any other type;
// INVALID_ARGUMENT a float that JSON cannot write.
void append_json(const arrow::Array& array, int64_t row, std::string& out);

// Appends `text`, which is UTF-8, as a JSON string.
void append_json_string(std::string_view text, std::string& out);

}  // namespace quench::corpora
