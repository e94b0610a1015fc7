// Arrow values as JSON.
#pragma once

#include <arrow/array.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quench::corpora {

// Whether values of the type are strings, in any layout, dictionary-encoded ones included.
bool is_text(const arrow::DataType& type);
// The string at `row` of an array of such a type, which owns it; nothing where it is null.
std::optional<std::string_view> text_at(const arrow::Array& array, int64_t row);

// Appends value `row` of `array`: null, booleans, integers, floats (shortest text that reads back
// equal), strings, lists, structs, dictionary-encoded values. UNSUPPORTED names any other type;
// INVALID_ARGUMENT a float that JSON cannot write.
void append_json(const arrow::Array& array, int64_t row, std::string& out);

// Appends `text`, which is UTF-8, as a JSON string.
void append_json_string(std::string_view text, std::string& out);

}  // namespace quench::corpora
