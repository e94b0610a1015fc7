// A checked view of a quench_batch.
#pragma once

#include <cstdint>
#include <span>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

// B rows of T tokens. Borrows the arrays of the quench_batch, for one call.
class Batch {
 public:
  // Throws INVALID_ARGUMENT for a wrong shape or dtype and for positions outside
  // [0, max_positions).
  Batch(const quench_batch* batch, int64_t max_positions);

  int64_t rows() const { return rows_; }              // B
  int64_t length() const { return length_; }          // T
  int64_t tokens() const { return rows_ * length_; }  // N

  std::span<const int32_t> ids() const { return ids_; }  // [B*T]
  // [B*T], or empty for 0..T-1 in each row.
  std::span<const int32_t> positions() const { return positions_; }
  // [B*T], or empty for one segment per row.
  std::span<const int32_t> segments() const { return segments_; }

  // Rows of one segment each at positions 0..T-1.
  bool is_plain() const { return positions_.empty() && segments_.empty(); }

  const quench_batch* given() const { return given_; }

  // Throws INVALID_ARGUMENT, naming row and column, when an id is outside [0, vocabulary).
  void check_ids(int64_t vocabulary) const;

 private:
  const quench_batch* given_;
  int64_t rows_ = 0;
  int64_t length_ = 0;
  std::span<const int32_t> ids_;
  std::span<const int32_t> positions_;
  std::span<const int32_t> segments_;
};

}  // namespace quench::decoder
