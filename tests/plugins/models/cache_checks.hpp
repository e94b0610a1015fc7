// What a family that keeps keys and values is asked of an op on them, on the family linked into the
// test.
#pragma once

#include <string>

#include "tests/plugins/models/model_driver.hpp"

namespace quench::test {

// In float64, of rows without segments: an op that changes nothing changes no bit; one that doubles
// values doubles what attention gives, to the bit; with keys of zeros every token's output is the
// mean of the values up to its own, of the heads that serve it; keys come rotated by position where
// some block rotates. An op is released once, and its error is told. Of the first linears of a
// block the derivative goes through it as through the identity.
void lets_an_op_change_keys_and_values(const std::string& config, const MemorySource& source,
                                       const Tokens& tokens);

}  // namespace quench::test
