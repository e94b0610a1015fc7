#include "quantizers/gptq/order.hpp"

#include <algorithm>
#include <numeric>

namespace quench::quantizers {

namespace {

// Sorts groups by their largest diagonal; the columns inside each group are already sorted.
std::vector<int32_t> with_groups_sorted(const std::vector<int32_t>& columns,
                                        const std::vector<double>& diagonal, int64_t group_size) {
  const size_t size = static_cast<size_t>(group_size);
  std::vector<size_t> groups(columns.size() / size);
  std::iota(groups.begin(), groups.end(), size_t{0});
  std::stable_sort(groups.begin(), groups.end(), [&](size_t a, size_t b) {
    return diagonal[static_cast<size_t>(columns[a * size])] >
           diagonal[static_cast<size_t>(columns[b * size])];
  });
  std::vector<int32_t> out;
  for (const size_t g : groups) {
    const auto first = columns.begin() + static_cast<std::ptrdiff_t>(g * size);
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(size));
  }
  out.insert(out.end(), columns.begin() + static_cast<std::ptrdiff_t>(out.size()), columns.end());
  return out;
}

}  // namespace

std::vector<int32_t> order_of_columns(const std::vector<double>& diagonal, ColumnOrder order,
                                      int64_t group_size) {
  std::vector<int32_t> perm(diagonal.size());
  std::iota(perm.begin(), perm.end(), 0);
  const auto larger = [&](int32_t a, int32_t b) {
    return diagonal[static_cast<size_t>(a)] > diagonal[static_cast<size_t>(b)];
  };
  if (order == ColumnOrder::kActivation) {
    std::stable_sort(perm.begin(), perm.end(), larger);
  }
  if (order == ColumnOrder::kGroupAware) {
    const auto size = static_cast<std::ptrdiff_t>(group_size);
    for (auto first = perm.begin(); perm.end() - first >= size; first += size) {
      std::stable_sort(first, first + size, larger);
    }
    perm = with_groups_sorted(perm, diagonal, group_size);
  }
  return perm;
}

}  // namespace quench::quantizers
