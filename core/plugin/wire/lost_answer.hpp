// What kept a function that cannot fail from giving its value, such as a process that ended in it.
// The function has returned something all the same, which must not be taken for its value.
#pragma once

#include <exception>
#include <utility>

namespace quench::wire {

inline thread_local std::exception_ptr lost_answer;

// Throws what was kept since the last call, if anything. For the end of a call into a plugin: what
// this thread called within it may be the function that lost its answer.
inline void throw_lost_answer() {
  if (lost_answer) {
    std::rethrow_exception(std::exchange(lost_answer, nullptr));
  }
}

}  // namespace quench::wire
