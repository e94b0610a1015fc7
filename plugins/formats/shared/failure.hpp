// Failures of formats: one line with file, what is there and what was wanted.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "quench/kit/error.hpp"

namespace quench::formats {

using kit::Error;

// Throws Error(code, formatted message).
template <typename... Args>
[[noreturn]] void fail(quench_status code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Text of a file as it may stand in a message: control characters escaped, cut at `limit` bytes.
std::string printable(std::string_view text, size_t limit = 120);

// Offset of the first byte that is not UTF-8, or npos.
size_t first_invalid_utf8(std::string_view text);

}  // namespace quench::formats
