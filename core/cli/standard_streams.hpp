// The three standard streams of the program, as they may have been left by whoever started it.
#pragma once

#include <string>

namespace quench {

// Gives descriptors 0, 1 and 2 that were closed a file of their own, from which nothing can be read
// and to which nothing can be written: otherwise the next file opened, a record file say, would
// receive what is printed. First thing in main.
void guard_standard_streams();

// One line for people. Never throws; where stderr is gone, the line is lost.
void print_error(const std::string& line) noexcept;

// Flushes stdout. False, after a line on stderr, when something printed did not arrive.
bool flush_output() noexcept;

}  // namespace quench
