#include "cli/colours.hpp"

#include <unistd.h>

namespace quench {

namespace {

bool colours_chosen = false;

}  // namespace

void choose_colours(const std::optional<std::string>& no_color,
                    const std::optional<std::string>& terminal_type) {
  const std::string type = terminal_type.value_or("");
  colours_chosen = no_color.value_or("").empty() && !type.empty() && type != "dumb" &&
                   ::isatty(STDERR_FILENO) == 1;
}

std::string coloured(const std::string& text, Tone tone) {
  if (!colours_chosen || tone == Tone::kPlain || text.empty()) {
    return text;
  }
  return (tone == Tone::kError ? "\033[31m" : "\033[33m") + text + "\033[0m";
}

}  // namespace quench
