// The program's three standard streams, which its caller may have closed.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

namespace quench {

// Opens a file for each of descriptors 0, 1 and 2 that is closed; reading and writing it fails.
// Otherwise the next opened file, such as a record file, would receive what is printed. main calls
// this first.
void guard_standard_streams();

// Where a command prints its results. After divert_plugin_output() it is a separate stream on the
// original descriptor 1, while descriptor 1 and libc's stdout lead to stderr: output of plugins
// never mixes with results that are piped or parsed. Before, it is stdout. Every command that loads
// plugins prints here.
std::FILE* results();
// Call this before the first plugin is loaded.
void divert_plugin_output();

// Print a line for people. Never throw; the line is lost if stderr is closed. On a terminal an
// error is red and a warning yellow.
void print_error(const std::string& line) noexcept;
void print_warning(const std::string& line) noexcept;

// Whether results() go to a pipe without a reader: `quench results ... | head`. That ends
// the command quietly.
bool reader_is_gone() noexcept;

// Flushes results() and stdout. Returns false, after a line on stderr, if output was lost.
bool flush_output() noexcept;

enum class Tone { kPlain, kWarning, kError };

// Messages have colours from then on if stderr is a terminal, unless its type (TERM) is unknown or
// "dumb", or NO_COLOR holds anything. Before the call they have none.
void choose_colours(const std::optional<std::string>& no_color,
                    const std::optional<std::string>& terminal_type);

// Whether that type is "dumb": such a terminal cannot rewrite a line. Before the call no.
bool is_dumb_terminal();

// The text, in red for an error and in yellow for a warning where messages have colours.
std::string coloured(const std::string& text, Tone tone);

}  // namespace quench
