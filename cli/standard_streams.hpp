// The three standard streams of the program, as they may have been left by whoever started it.
#pragma once

#include <cstdio>
#include <string>

namespace quench {

// Gives descriptors 0, 1 and 2 that were closed a file of their own, from which nothing can be read
// and to which nothing can be written: otherwise the next file opened, a record file say, would
// receive what is printed. First thing in main.
void guard_standard_streams();

// Where a command prints its results. From divert_plugin_output() on it is a stream of its own on
// what was descriptor 1, and that descriptor and libc's stdout lead to stderr: what a plugin prints
// mixes with no result that is piped or parsed. Before, it is stdout. Every command that loads
// plugins prints there.
std::FILE* results();
// Called before the first plugin is loaded.
void divert_plugin_output();

// One line for people. Never throws; where stderr is gone, the line is lost.
void print_error(const std::string& line) noexcept;

// Flushes results() and stdout. False, after a line on stderr, when a result did not arrive.
bool flush_output() noexcept;

}  // namespace quench
