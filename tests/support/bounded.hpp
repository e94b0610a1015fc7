// What a small input may cost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace quench::test {

// What `body` throws, as text, "" where it throws nothing. It runs in a child that may take this
// much more memory and processor time than its parent; one that wants more is "out of memory" or
// "ended by signal N", which no message of the program is. Under a sanitizer, whose
// own memory would count, time alone is bounded, and generously.
std::string message_within(unsigned seconds, size_t mebibytes, const std::function<void()>& body);

}  // namespace quench::test
