// A linear's weight out of the tensors in which a format stores it.
#pragma once

#include <cstdint>

namespace quench::formats {

class PackedLinear {
 public:
  virtual ~PackedLinear() = default;
  PackedLinear(const PackedLinear&) = delete;
  PackedLinear& operator=(const PackedLinear&) = delete;

  int64_t out_features() const { return out_; }
  int64_t in_features() const { return in_; }
  // Rows are read in runs that begin at a multiple of this, where codes begin a word.
  virtual int64_t row_step() const { return 1; }
  // Whether groups are runs of neighbouring columns, from the first on.
  virtual bool groups_in_order() const { return true; }
  // Rows [first, first + rows) of the dequantized weight, [rows, in] float32. Throws Error:
  // DATA_LOSS for codes that contradict each other, and what reading throws.
  virtual void dequantize(int64_t first, int64_t rows, float* to) const = 0;

 protected:
  PackedLinear(int64_t out, int64_t in) : out_(out), in_(in) {}

 private:
  int64_t out_;
  int64_t in_;
};

}  // namespace quench::formats
