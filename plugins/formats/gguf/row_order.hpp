// The order in which llama.cpp has the rows of queries and keys of some architectures.
#pragma once

#include <cstdint>

namespace quench::gguf {

// Its rotation turns neighbouring rows of a head where the model's turns row i with row i + width/2
// of a head of `width` rows: those two are stored as rows 2 i and 2 i + 1. The row in the file of
// the model's row `row`. `width` is even and not 0.
inline int64_t stored_row(int64_t row, int64_t width) {
  const int64_t within = row % width;
  const int64_t half = width / 2;
  return row - within + 2 * (within % half) + within / half;
}

}  // namespace quench::gguf
