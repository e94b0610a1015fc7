#include "core/config/yaml_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/config/yaml.hpp"
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

std::string yaml_scalar(const std::string& text) {
  const std::string rest = text.starts_with("hf://") ? text.substr(5) : text;
  const bool plain =
      !rest.empty() && (std::isalpha(static_cast<unsigned char>(rest[0])) != 0 || rest[0] == '/') &&
      std::all_of(rest.begin(), rest.end(), [](unsigned char c) {
        return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("_./+-", c) != nullptr);
      });
  constexpr const char* kWords[] = {"true", "false", "null"};
  const bool word = std::any_of(std::begin(kWords), std::end(kWords),
                                [&](const char* each) { return text == each; });
  return plain && !word ? text : double_quoted(text);
}

}  // namespace quench
