#include "tests/support/differences.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace quench::test {

namespace {

constexpr size_t kShown = 60;  // bytes

// What `text` has from `at`, in quotes, with what cannot be printed as \xNN.
std::string quoted(std::string_view text, size_t at) {
  std::string out = "\"";
  for (const char c : text.substr(at, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isprint(byte) != 0 && c != '"' && c != '\\') {
      out += c;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    }
  }
  return out + (text.size() > at + kShown ? "\"..." : "\"");
}

}  // namespace

std::string differences(std::string_view got, std::string_view wanted) {
  if (got == wanted) {
    return "";
  }
  const auto first = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end()).first;
  const auto at = static_cast<size_t>(first - got.begin());
  return "line " + std::to_string(std::count(got.begin(), first, '\n') + 1) + ", byte " +
         std::to_string(at) + ": got " + quoted(got, at) + ", wanted " + quoted(wanted, at) + " (" +
         std::to_string(got.size()) + " and " + std::to_string(wanted.size()) + " bytes in all)";
}

}  // namespace quench::test
