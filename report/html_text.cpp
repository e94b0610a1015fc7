#include "report/html_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace quench {

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t good = std::min(first_invalid_utf8(text), text.size());
    for (const char c : text.substr(0, good)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '&') {
        out += "&amp;";
      } else if (c == '<') {
        out += "&lt;";
      } else if (c == '>') {
        out += "&gt;";
      } else if (c == '"') {
        out += "&quot;";
      } else if (c == '\'') {
        out += "&#39;";
      } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
        out += "\uFFFD";
      } else {
        out += c;
      }
    }
    if (good < text.size()) {
      out += "\uFFFD";
    }
    text.remove_prefix(std::min(good + 1, text.size()));
  }
  return out;
}

std::string script_json(const nlohmann::json& value) {
  const std::string plain = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {  // JSON has these characters only inside strings
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace quench
