// The order in which GPTQ quantizes columns.
#pragma once

#include <cstdint>
#include <vector>

namespace quench::quantizers {

enum class ColumnOrder {
  kGiven,       // as they stand
  kActivation,  // by descending diagonal of H (act-order, desc_act)
  kGroupAware   // groups by descending largest diagonal, columns likewise inside each group
};

// perm[k] = column that is quantized k-th; ties keep their order. With kGroupAware a last group
// that is not full stays last, so that every group keeps its columns together.
std::vector<int32_t> order_of_columns(const std::vector<double>& diagonal, ColumnOrder order,
                                      int64_t group_size);

}  // namespace quench::quantizers
