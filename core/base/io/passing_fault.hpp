// Faults of a machine that another try may not meet: memory, descriptors or room run out, a disk or
// a network's file system fails. They say nothing of a file, and are not its user's to mend.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "quench/abi/status.h"

namespace quench {

inline constexpr std::array kPassingFaults = {EIO,    EAGAIN, ENOMEM, EBUSY,  ENFILE,
                                              EMFILE, ENOSPC, ESTALE, EDQUOT, ETIMEDOUT};

inline bool is_passing_fault(int number) {
  return std::find(kPassingFaults.begin(), kPassingFaults.end(), number) != kPassingFaults.end();
}

// UNAVAILABLE for such a fault, else what any other means here.
inline quench_status status_of_fault(int number, quench_status otherwise) {
  return is_passing_fault(number) ? QUENCH_UNAVAILABLE : otherwise;
}

// The same of what was said of it, as the C library words it.
inline bool says_passing_fault(std::string_view text) {
  return std::any_of(kPassingFaults.begin(), kPassingFaults.end(), [&](int number) {
    return text.find(std::generic_category().message(number)) != std::string_view::npos;
  });
}

}  // namespace quench
