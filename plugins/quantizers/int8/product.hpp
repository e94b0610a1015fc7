// Products of int8 matrices with exact int32 sums.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace quench::quantizers {

// c[i] = sum over k of a[i,k] b[j,k], for one row i and all j; what is made of it is the caller's.
// `row` is i, `sums` [columns of the result].
using TakeRow = std::function<void(int64_t row, std::span<const int32_t> sums)>;

// Columns beyond which sums of extremes leave int32.
inline constexpr int64_t kMostInt8Columns = (int64_t{1} << 31) / (128 * 128) - 1;

// The plain kernel, which tests hold the fast ones against. a [rows, inner], b [columns, inner].
void multiply_plain(std::span<const int8_t> a, std::span<const int8_t> b, int64_t inner,
                    const TakeRow& take);

enum class Int8Kernel { kPortable, kAvx2, kAvx512Vnni };
// What this machine has, slowest first.
std::span<const Int8Kernel> int8_kernels();
// The fastest of those within the host's instruction set; all give the same sums.
Int8Kernel chosen_int8_kernel();

// b [columns, inner], laid out for a kernel once and multiplied many times.
class Int8Matrix {
 public:
  Int8Matrix(std::span<const int8_t> b, int64_t columns, int64_t inner);
  Int8Matrix(std::span<const int8_t> b, int64_t columns, int64_t inner, Int8Kernel kernel);

  // `take` is called once per row, on any thread, rows in any order.
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
  int64_t padded_;  // inner_, up to a multiple of 64; the rest is zeros
  Int8Kernel kernel_;
  std::unique_ptr<int8_t, Free> packed_;  // [columns, up to a multiple of 4][padded_]
  std::vector<int32_t> offsets_;          // 128 * sum of each row, which an unsigned a adds
};

}  // namespace quench::quantizers
