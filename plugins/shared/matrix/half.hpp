// The two 16-bit floats as they lie in memory. They are only converted, never computed with.
#pragma once

#include <cstdint>

namespace quench::matrix {

struct Bfloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

}  // namespace quench::matrix
