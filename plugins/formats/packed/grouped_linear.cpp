#include "formats/packed/grouped_linear.hpp"

#include <algorithm>

#include "formats/packed/scheme.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

void GroupedLinear::dequantize(int64_t first, int64_t rows, float* to) const {
  PackedTile tile;
  tile.codes.resize(static_cast<uint64_t>(rows * in_features()));
  tile.scales.resize(static_cast<uint64_t>(rows * groups_));
  tile.zeros.resize(static_cast<uint64_t>(rows * groups_));
  load(first, rows, tile);
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* codes = tile.codes.data() + r * in_features();
    const float* scales = tile.scales.data() + r * groups_;
    const float* zeros = tile.zeros.data() + r * groups_;
    for (int64_t c = 0; c < in_features(); ++c) {
      const int32_t g = group_[static_cast<size_t>(c)];
      to[r * in_features() + c] = scales[g] * (static_cast<float>(codes[c]) - zeros[g]);
    }
  }
}

bool GroupedLinear::groups_in_order() const {
  return std::is_sorted(group_.begin(), group_.end());
}

void GroupedLinear::expect_groups(int64_t size, std::string_view scales) const {
  if (const int64_t wanted = groups_of(size, in_features()); wanted != groups_) {
    parts_.refuse(
        scales, fmt::format("{} groups of {} columns", wanted, size == -1 ? in_features() : size));
  }
}

void GroupedLinear::group_by_size(int64_t size, std::string_view scales) {
  expect_groups(size, scales);
  const int64_t step = size == -1 ? in_features() : size;
  group_.resize(static_cast<size_t>(in_features()));
  for (int64_t c = 0; c < in_features(); ++c) {
    group_[static_cast<size_t>(c)] = static_cast<int32_t>(c / step);
  }
}

void GroupedLinear::group_by_index(std::string_view ending) {
  const uint64_t index = parts_.shaped(ending, kInt32, {in_features()});
  group_ = parts_.read<int32_t>(index, 0, static_cast<uint64_t>(in_features()));
  const auto bad =
      std::find_if(group_.begin(), group_.end(), [&](int32_t g) { return g < 0 || g >= groups_; });
  if (bad != group_.end()) {
    fail(QUENCH_DATA_LOSS, "{}: {}[{}] is {}, there are {} groups", parts_.where(),
         ending.substr(1), bad - group_.begin(), *bad, groups_);
  }
}

}  // namespace quench::formats
