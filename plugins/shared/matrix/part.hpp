#pragma once

namespace quench::matrix {

// Which elements of a square result are wanted. What lies beyond them may be written all the same,
// or not.
enum class Part { kAll, kUpper, kLower };

}  // namespace quench::matrix
