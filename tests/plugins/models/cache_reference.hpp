// Logits of a family whose attention reads rounded keys and values, against transformers' with the
// same rounding in numpy: tests/data/cache_reference.py.
#pragma once

#include <string>

namespace quench::test {

// Logits within 5e-6 in float64 of those of each saved case of the family.
void matches_transformers_with_a_rounded_cache(const std::string& name);

}  // namespace quench::test
