// A packed weight whose columns fall into groups, each with a scale and a zero per row.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"

namespace quench::formats {

// Codes, scales and zeros of some rows.
struct PackedTile {
  std::vector<uint8_t> codes;  // [rows, in]
  std::vector<float> scales;   // [rows, groups]
  std::vector<float> zeros;    // [rows, groups]
};

// scale · (code − zero) in float32.
class GroupedLinear : public PackedLinear {
 public:
  void dequantize(int64_t first, int64_t rows, float* to) const override;
  bool groups_in_order() const override;

 protected:
  GroupedLinear(PackedParts parts, int64_t out, int64_t in, int64_t groups)
      : PackedLinear(out, in), parts_(std::move(parts)), groups_(groups) {}

  // Fills the tile, which has its size, for rows [first, first + rows).
  virtual void load(int64_t first, int64_t rows, PackedTile& tile) const = 0;

  // Refuses another number of groups than `size` columns each (-1: one group) give; the last may be
  // short. `scales` is the ending of the tensor that is at fault.
  void expect_groups(int64_t size, std::string_view scales) const;
  // Such groups, in the order of columns.
  void group_by_size(int64_t size, std::string_view scales);
  // Groups as the tensor with this ending has them, int32 [in].
  void group_by_index(std::string_view ending);

  PackedParts parts_;
  int64_t groups_;
  std::vector<int32_t> group_;  // [in]
};

}  // namespace quench::formats
