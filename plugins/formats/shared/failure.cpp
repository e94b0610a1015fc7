#include "formats/shared/failure.hpp"

namespace quench::formats {

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  const size_t broken = first_invalid_utf8(text);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool odd =
        byte < 0x20 || byte == 0x7F || (broken != std::string_view::npos && byte > 0x7F);
    const std::string shown = odd ? fmt::format("\\x{:02x}", byte) : std::string(1, text[i]);
    if (out.size() + shown.size() > limit && (byte & 0xC0U) != 0x80U) {
      return out + "...";
    }
    out += shown;
  }
  return out;
}

size_t first_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = at(i);
    const size_t more = lead < 0x80                    ? 0
                        : lead >= 0xC2 && lead <= 0xDF ? 1
                        : lead >= 0xE0 && lead <= 0xEF ? 2
                        : lead >= 0xF0 && lead <= 0xF4 ? 3
                                                       : text.size();
    if (more >= text.size() - i) {
      return i;
    }
    for (size_t k = 1; k <= more; ++k) {
      const unsigned char low = k > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned char high = k > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (at(i + k) < low || at(i + k) > high) {
        return i;
      }
    }
    i += more + 1;
  }
  return std::string_view::npos;
}

}  // namespace quench::formats
