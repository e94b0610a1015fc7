#include "core/base/config/yaml_text.hpp"

#include "core/error.hpp"

namespace quench {

std::string double_quoted(const std::string& text) {
  if (first_invalid_utf8(text) != std::string_view::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: is not UTF-8, so that no manifest can name it",
         printable(text));
  }
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += c == '"' || c == '\\'         ? std::string("\\") + c
           : byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte)
                                         : std::string(1, c);
  }
  return out + "\"";
}

}  // namespace quench
