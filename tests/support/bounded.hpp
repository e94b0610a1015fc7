// What a small input may cost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace quench::test {

// What `body` throws, as text, "" where it throws nothing. It runs in a child that may take this
// much more memory than its parent, and a minute of processor time: far more than a bounded
// computation needs on any machine, and far less than one without a bound. One that wants more is
// "out of memory" or "ended by signal N", which no message of the program is. Under a sanitizer,
// whose own memory would count, time alone is bounded.
std::string message_within(size_t mebibytes, const std::function<void()>& body);

}  // namespace quench::test
