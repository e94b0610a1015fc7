// The order in which GPTQ quantizes columns.
#pragma once

#include <cstdint>
#include <vector>

namespace quench::quantizers {

enum class ColumnOrder {
  kGiven,       // original order
  kActivation,  // by descending diagonal of H (act-order, desc_act)
  kGroupAware   // groups by descending largest diagonal, columns likewise within each group
};

// perm[k] is the column that is quantized k-th; ties keep their order. With kGroupAware an
// incomplete last group stays last, so that every group keeps its columns together.
std::vector<int32_t> order_of_columns(const std::vector<double>& diagonal, ColumnOrder order,
                                      int64_t group_size);

}  // namespace quench::quantizers
