// Failures with formatted messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "quench/kit/error.hpp"

namespace quench::tokenizers {

using kit::Error;

// Throws Error(code, formatted message).
template <typename... Args>
[[noreturn]] void fail(quench_status code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Text as it may appear in a one-line message: control characters and bytes that are not UTF-8
// escaped, cut at `limit` bytes.
std::string printable(std::string_view text, size_t limit = 120);

}  // namespace quench::tokenizers
