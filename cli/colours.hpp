// The colours of messages on a terminal.
#pragma once

#include <optional>
#include <string>

namespace quench {

enum class Tone { kPlain, kWarning, kError };

// Messages have colours from then on if stderr is a terminal, unless its type (TERM) is unknown or
// "dumb", or NO_COLOR holds anything. Before the call they have none.
void choose_colours(const std::optional<std::string>& no_color,
                    const std::optional<std::string>& terminal_type);

// The text, in red for an error and in yellow for a warning where messages have colours.
std::string coloured(const std::string& text, Tone tone);

}  // namespace quench
