// Products of int8 matrices with exact int32 sums.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace quench::quantizers {

// Receives c[i] = sum over k of a[i,k] b[j,k] for one row i and all j. `row` is i, `sums` has one
// element per column of the result.
using TakeRow = std::function<void(int64_t row, std::span<const int32_t> sums)>;

// With more columns than this, sums of extreme codes exceed int32.
inline constexpr int64_t kMostInt8Columns = (int64_t{1} << 31) / (128 * 128) - 1;

// The plain kernel, the reference for tests of the fast ones. a [rows, inner], b [columns, inner].
void multiply_plain(std::span<const int8_t> a, std::span<const int8_t> b, int64_t inner,
                    const TakeRow& take);

enum class Int8Kernel { kPortable, kAvx2, kAvx512Vnni };
// The kernels that this machine supports, slowest first.
std::span<const Int8Kernel> int8_kernels();
// The fastest of them within the host's instruction set; all give the same sums.
Int8Kernel chosen_int8_kernel();

// b [columns, inner], packed once for a kernel and multiplied many times.
class Int8Matrix {
 public:
  Int8Matrix(std::span<const int8_t> b, int64_t columns, int64_t inner);
  Int8Matrix(std::span<const int8_t> b, int64_t columns, int64_t inner, Int8Kernel kernel);

  // Calls `take` once per row, on any thread, in any order of rows.
  void multiply(std::span<const int8_t> a, const TakeRow& take) const;

  int64_t columns() const { return columns_; }
  int64_t inner() const { return inner_; }
  int8_t at(int64_t column, int64_t k) const { return packed_.get()[column * padded_ + k]; }

 private:
  struct Free {
    void operator()(int8_t* memory) const;
  };
  int64_t columns_;
  int64_t inner_;
  int64_t padded_;  // inner_ rounded up to a multiple of 64; padded with zeros
  Int8Kernel kernel_;
  std::unique_ptr<int8_t, Free> packed_;  // [columns rounded up to a multiple of 4][padded_]
  std::vector<int32_t> offsets_;          // 128 * sum of each row, which the unsigned a adds
};

}  // namespace quench::quantizers
