// Arrow values as JSON.
#pragma once

#include <arrow/array.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quench::corpora {

// Whether the type holds strings, in any layout, including dictionary encoding.
bool is_text(const arrow::DataType& type);
// The string at `row` of such an array, which owns it; nothing if it is null.
std::optional<std::string_view> text_at(const arrow::Array& array, int64_t row);

// Appends value `row` of `array`: null, booleans, integers, floats (the shortest text that reads
// back equal), strings, lists, structs, dictionary-encoded values. Throws UNSUPPORTED for any other
// type and INVALID_ARGUMENT for a float that JSON cannot represent.
void append_json(const arrow::Array& array, int64_t row, std::string& out);

// Appends `text` (UTF-8) as a JSON string.
void append_json_string(std::string_view text, std::string& out);

}  // namespace quench::corpora
