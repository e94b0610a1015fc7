// What a host does with messages of a process that sends anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace quench::test {

// The first byte says what the rest is: below 128 the body of a call of one of the host's
// functions, else replies to the calls of one kind of plugin, each after the number of its words.
// Ends with a status or an Error, or the host is at fault.
void take_garbage(std::span<const uint8_t> input);

// Inputs that are no garbage, as a session between a host and a plugin wrote them.
std::vector<std::string> recorded_sessions();

// A session with one to four changes of a byte, a word, or its length.
std::string with_changes(std::string session, std::mt19937_64& random);

}  // namespace quench::test
