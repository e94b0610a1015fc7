// Ends a test case that cannot test here, visibly: ctest counts it as skipped and says why.
#pragma once

#include <cstddef>
#include <string>

namespace quench::test {

// Call on the test's own thread, where a REQUIRE could stand. What was checked before counts; a
// section that is skipped does not keep the other sections from running.
[[noreturn]] void skip(const std::string& why);

// Skips, giving `why`, unless `possible`.
void skip_unless(bool possible, const std::string& why);

// Test cases skipped so far, for main.
size_t skipped_cases();

}  // namespace quench::test
