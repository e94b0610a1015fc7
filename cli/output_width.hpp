// The width of the terminal that shows what a command prints, and text that fits into it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace quench {

// The columns that a line may fill on the terminal behind a descriptor: one less than it has, since
// some terminals wrap once the last one is filled. Nothing if it is no terminal.
std::optional<size_t> terminal_columns(int descriptor);

// The same for results(). What is piped or written to a file keeps its full width.
std::optional<size_t> output_columns();

// Folds the lines that do not fit into output_columns() between their words; what follows the
// first part of a line is indented.
std::string fitted_lines(const std::string& text, size_t indent = 2);

}  // namespace quench
