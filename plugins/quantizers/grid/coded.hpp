// A weight as integer codes with one scale and one zero per row and group: written to the sink, and
// decoded to a dequantized weight.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "quench/kit/quantizer.hpp"
#include "shared/grid/grid.hpp"

namespace quench::quantizers {

// Groups of `size` consecutive columns; the last may be shorter. There is one group if `size` is -1
// or a row is no longer than `size`.
struct Groups {
  int64_t size;
  int64_t count;
};
Groups groups_of(int64_t columns, int64_t group_size);

// Views of the host's result tensors, which a quantizer fills.
struct Coded {
  int64_t rows;
  int64_t columns;
  int64_t groups;
  std::span<uint8_t> codes;  // [rows, columns], original column order
  std::span<double> scales;  // [rows, groups]
  std::span<double> zeros;   // [rows, groups]
  std::span<int32_t> g_idx;  // [columns], group of each column
};

// Memory for a Coded that does not belong to a sink.
class CodedStorage {
 public:
  CodedStorage(int64_t rows, int64_t columns, Groups groups);
  // Valid until this object moves or dies. g_idx is filled; the rest is zero.
  const Coded& view() const { return view_; }

 private:
  std::vector<uint8_t> codes_;
  std::vector<double> scales_;
  std::vector<double> zeros_;
  std::vector<int32_t> g_idx_;
  Coded view_;
};

// Bytes of such tensors of `weights` weights in rows of `columns`, with those groups.
uint64_t coded_bytes(uint64_t weights, int64_t columns, Groups groups);

// g_idx[c] = c / size.
void fill_group_index(const Coded& coded, Groups groups);

// Creates "codes", "scales", "zeros" and "g_idx" in the sink.
Coded make_coded(kit::QuantizeSink& sink, int64_t rows, int64_t columns, int64_t groups);

// The values as a tensor [count] in the memory of `like`; in host memory valid as long as they are.
template <typename T>
at::Tensor beside(const at::Tensor& like, std::span<const T> values) {
  return at::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                       c10::CppTypeToScalarType<T>::value)
      .to(like.device());
}

// Copies a matrix that was made on any device into one of the host's.
void take(const at::Tensor& made, std::span<uint8_t> to);
void take(const at::Tensor& made, std::span<double> to);

// Codes, scales and zeros as in Coded, in the memory of the weight that they are of, C order.
struct CodedThere {
  // Uninitialized.
  CodedThere(const at::Tensor& weight, Groups groups);
  CodedThere(at::Tensor made_codes, at::Tensor made_scales, at::Tensor made_zeros)
      : codes(std::move(made_codes)),
        scales(std::move(made_scales)),
        zeros(std::move(made_zeros)) {}
  at::Tensor codes;   // uint8
  at::Tensor scales;  // float64
  at::Tensor zeros;   // float64
};
void take(const CodedThere& made, const Coded& to);

// Writes scale * (code - zero), computed in float64 and rounded once to the dtype of `to` [rows,
// columns]. Throws NUMERICAL with the linear's name if a scale overflowed.
void dequantize(const Coded& coded, const quench_tensor& to, const char* name);

// The same of codes, scales and zeros in the memory of a device, to `to` there; `g_idx` as in
// Coded. Nothing else looks at what is there, so it throws for a weight that is not finite, too.
void dequantize_on_device(const at::Tensor& codes, const at::Tensor& scales,
                          const at::Tensor& zeros, const std::vector<int32_t>& g_idx,
                          const at::Tensor& to, const char* name);
// The same with groups of consecutive columns.
void dequantize_on_device(const CodedThere& coded, Groups groups, const at::Tensor& to,
                          const char* name);

// Whether a quantizer's result is to be left on a device, without codes.
bool stays_on_device(const kit::LinearToQuantize& linear);

// Average storage per weight in bits: its code, 16 for each scale (float16), `bits` for each zero
// unless the grid is symmetric (then the zero is known), and 32 for each column's group index if
// that is not simply column / size (`ordered`).
double bits_per_weight(const Coded& coded, GridKind kind, bool ordered);

}  // namespace quench::quantizers
