#pragma once

namespace quench::matrix {

// Which elements of a square result the caller wants, the diagonal included. The kernel may or may
// not write the others.
enum class Triangle { kBoth, kUpper, kLower };

}  // namespace quench::matrix
