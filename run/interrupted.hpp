// A cell that a fault outside of it kept from being measured: what stands for it in the run's
// answer is in no file, and the next run measures the cell.
#pragma once

#include "core/store/record.hpp"

namespace quench {

inline constexpr const char* kInterruptedDetail = "interrupted";

inline bool was_interrupted(const Record& record) {
  return record.details.is_object() && record.details.contains(kInterruptedDetail);
}

}  // namespace quench
