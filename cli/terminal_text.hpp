// The width of the terminal that shows what a command prints, and text that fits into it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cli/standard_streams.hpp"

namespace quench {

// The columns that a line may fill on the terminal behind a descriptor: one less than it has, since
// some terminals wrap once the last one is filled. Nothing if it is no terminal.
std::optional<size_t> terminal_columns(int descriptor);

// The same for results(). What is piped or written to a file keeps its full width.
std::optional<size_t> output_columns();

// Folds the lines that do not fit into output_columns() between their words; what follows the
// first part of a line is indented.
std::string fitted_lines(const std::string& text, size_t indent = 2);

// Folds what does not fit of a text of lines "  --option VALUE    explanation": explanations go on
// where they began, and a little indented where that leaves them no room.
std::string folded_help(const std::string& text, size_t columns);

// The same for output_columns().
std::string fitted_help(const std::string& text);

// Prints one line to results(), folded as fitted_lines() does.
template <typename... Args>
void print_line(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(results(), "{}\n", fitted_lines(fmt::format(format, std::forward<Args>(args)...)));
}

// What the line of work under way shows, which never wraps.
struct ProgressState {
  uint64_t cells_done = 0;
  uint64_t cells_total = 0;  // 0: no count
  std::string step;          // "step600, gptq bits=3"
  std::string work;          // what is counted; its last word is the unit: "scoring tokens"
  uint64_t done = 0;
  uint64_t total = 0;
  double rate = 0;                 // units per second; 0: not known yet
  std::optional<double> run_left;  // seconds until the last cell, where that can be told
};

// Characters that a terminal shows for a text in UTF-8, one column each.
size_t columns_of(const std::string& text);

// At most `columns` wide. Where there is no room, first the rest of the run goes, then the bar, the
// rate, and then the end of the step's name.
std::string progress_line(const ProgressState& state, size_t columns);

// What becomes of a word that is longer than a line. Of a path that is cut no terminal can tell
// that it is one.
enum class LongWord : uint8_t { kCut, kUncut };

// Folds a message between its words so that no line is wider; lines after the first are indented.
std::string folded(const std::string& message, size_t columns, size_t indent = 2,
                   LongWord longer = LongWord::kCut);
// The start of a text that is wider than `columns`, and "…". A number that would be cut is left out
// whole: "step1000" does not become "step10…".
std::string shortened(const std::string& text, size_t columns);

}  // namespace quench
