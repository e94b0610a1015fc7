#include "quantizers/grid/round_rows.hpp"

#include <algorithm>

#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

template <typename T>
Grid grid_of_group(const T* values, int64_t count, GridKind kind) {
  // Independent lanes, which a compiler may keep in one register without reordering operations.
  constexpr int64_t kLanes = 16;
  T low[kLanes] = {};
  T high[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const T x = values[i + l];
      low[l] = x < low[l] ? x : low[l];
      high[l] = x > high[l] ? x : high[l];
    }
  }
  for (; i < count; ++i) {
    low[0] = std::min(low[0], values[i]);
    high[0] = std::max(high[0], values[i]);
  }
  return grid_of_values(values, 1, count, *std::min_element(low, low + kLanes),
                        *std::max_element(high, high + kLanes), kind);
}

template <typename T>
void round_all(const T* weight, Groups groups, GridKind kind, const Coded& coded) {
  const double max_code = kind.max_code();
  kit::parallel_for(
      static_cast<uint64_t>(coded.rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
          const T* row = weight + r * coded.columns;
          uint8_t* codes = coded.codes.data() + r * coded.columns;
          for (int64_t g = 0; g < groups.count; ++g) {
            const int64_t first = g * groups.size;
            const int64_t last = std::min(first + groups.size, coded.columns);
            const Grid grid = grid_of_group(row + first, last - first, kind);
            for (int64_t c = first; c < last; ++c) {
              codes[c] = static_cast<uint8_t>(
                  static_cast<int32_t>(code_of(row[c], grid.scale, grid.zero, max_code)));
            }
            coded.scales[static_cast<size_t>(r * groups.count + g)] = grid.scale;
            coded.zeros[static_cast<size_t>(r * groups.count + g)] = grid.zero;
          }
        }
      });
}

}  // namespace

void round_rows(const float* weight, Groups groups, GridKind kind, const Coded& coded) {
  round_all(weight, groups, kind, coded);
}
void round_rows(const double* weight, Groups groups, GridKind kind, const Coded& coded) {
  round_all(weight, groups, kind, coded);
}

void round_rows(const at::Tensor& weight, at::Device device, Groups groups, GridKind kind,
                const Coded& coded) {
  const at::Tensor there = weight.to(device);
  if (!matrix::on_host(there)) {
    round_rows_by_kernel(there, groups, kind, coded);
  } else if (weight.scalar_type() == at::kDouble) {
    round_rows(weight.const_data_ptr<double>(), groups, kind, coded);
  } else {
    round_rows(weight.const_data_ptr<float>(), groups, kind, coded);
  }
}

}  // namespace quench::quantizers
