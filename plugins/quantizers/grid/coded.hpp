// A weight as integer codes with one scale and one zero per row and group: what goes into the sink,
// and back to a dequantized weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quantizers/grid/grid.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// Columns in runs of `size`; the last run may be short. `size` -1, or a row no longer than `size`:
// one group.
struct Groups {
  int64_t size;
  int64_t count;
};
Groups groups_of(int64_t columns, int64_t group_size);

// Views of the host's result tensors, to be filled by a quantizer.
struct Coded {
  int64_t rows;
  int64_t columns;
  int64_t groups;
  std::span<uint8_t> codes;  // [rows, columns], original column order
  std::span<double> scales;  // [rows, groups]
  std::span<double> zeros;   // [rows, groups]
  std::span<int32_t> g_idx;  // [columns], group of each column
};

// Memory of a Coded that no sink asked for.
class CodedStorage {
 public:
  CodedStorage(int64_t rows, int64_t columns, Groups groups);
  // Valid as long as this object stays where it is; g_idx is filled, the rest is zeros.
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

// Asks the sink for "codes", "scales", "zeros" and "g_idx".
Coded make_coded(kit::QuantizeSink& sink, int64_t rows, int64_t columns, int64_t groups);

// scale * (code - zero), computed in float64 and rounded once to the dtype of `to` [rows, columns].
// NUMERICAL with the linear's name when a scale overflowed.
void dequantize(const Coded& coded, const quench_tensor& to, const char* name);

// Bits that one weight costs on disk, on average: its code, 16 for each scale (a half), `bits` for
// each zero unless the grid is symmetric (its zero is known), and 32 for each column's group index
// where that is not just column / size (`ordered`).
double bits_per_weight(const Coded& coded, GridKind kind, bool ordered);

}  // namespace quench::quantizers
