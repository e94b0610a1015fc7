// The host's services as C++ functions. Usable after the module's init, that is, in every instance.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "quench/abi/host.h"
#include "quench/kit/error.hpp"

namespace quench::kit {

// Set once by the module's init. It is hidden, so every plugin has its own.
inline const quench_host* current_host = nullptr;

// The service table with that id, or nullptr.
template <typename Table>
const Table* service(const char* id) {
  if (current_host == nullptr) {
    return nullptr;
  }
  return static_cast<const Table*>(current_host->service(current_host, id));
}

// Writes a line to the host's log.
inline void log(int32_t level, const std::string& message) {
  if (const auto* table = service<quench_log>(QUENCH_SERVICE_LOG)) {
    table->write(current_host, level, message.c_str());
  }
}

// Throws CANCELLED if the user asked to stop. Long work calls it twice a second: a sign of life.
inline void check_cancelled() {
  const auto* table = service<quench_cancel>(QUENCH_SERVICE_CANCEL);
  if (table != nullptr && table->requested(current_host) != 0) {
    throw Error(QUENCH_CANCELLED, "stopped on request");
  }
}

inline void report_progress(const char* what, uint64_t done, uint64_t total) {
  if (const auto* table = service<quench_progress>(QUENCH_SERVICE_PROGRESS)) {
    table->report(current_host, what, done, total);
  }
}

// The number of threads that this run may use; 1 without a host.
inline uint32_t thread_count() {
  const auto* table = service<quench_tasks>(QUENCH_SERVICE_TASKS);
  return table != nullptr ? table->threads(current_host) : 1;
}

// The instruction set for kernels that are chosen at run time, QUENCH_INSTRUCTIONS_*; the portable
// one without a host.
inline int32_t instructions() {
  const auto* table = service<quench_processor>(QUENCH_SERVICE_PROCESSOR);
  return table != nullptr ? table->instructions(current_host) : QUENCH_INSTRUCTIONS_PORTABLE;
}

namespace detail {

// Whether this thread runs a body of parallel_for.
inline thread_local bool inside_parallel_for = false;

class InsideParallelFor {
 public:
  InsideParallelFor() : before_(std::exchange(inside_parallel_for, true)) {}
  ~InsideParallelFor() { inside_parallel_for = before_; }
  InsideParallelFor(const InsideParallelFor&) = delete;
  InsideParallelFor& operator=(const InsideParallelFor&) = delete;

 private:
  bool before_;
};

}  // namespace detail

// Calls body(begin, end) for disjoint ranges of at most `grain` that cover [0, count). The ranges
// do not depend on the number of threads. Rethrows the first exception of a body. Inside another
// body the ranges run one after the other: only the outermost loop uses several threads.
template <typename Body>
void parallel_for(uint64_t count, uint64_t grain, Body&& body) {
  struct Context {
    std::remove_reference_t<Body>* body;
    quench_error error;
    std::atomic_flag
        failed;  // ranges may fail on several threads at once: the first one's error is kept
  } context{&body, {sizeof(quench_error), 0, {}}, {}};
  const auto call = [](void* user, uint64_t begin, uint64_t end) noexcept -> quench_status {
    auto* shared = static_cast<Context*>(user);
    quench_error own{sizeof(quench_error), 0, {}};
    const detail::InsideParallelFor inside;
    const quench_status status = guard(&own, [&] { (*shared->body)(begin, end); });
    if (status != QUENCH_OK && !shared->failed.test_and_set()) {
      shared->error = own;
    }
    return status;
  };
  const auto* table = service<quench_tasks>(QUENCH_SERVICE_TASKS);
  if (table == nullptr || detail::inside_parallel_for) {
    for (uint64_t begin = 0; begin < count; begin += grain) {
      body(begin, count - begin < grain ? count : begin + grain);
    }
    return;
  }
  check(table->parallel_for(current_host, count, grain, call, &context), context.error);
}

// `count` random 64-bit numbers of the stream `stream`, starting at position `counter`.
inline std::vector<uint64_t> random_uniform(const std::string& stream, uint64_t counter,
                                            uint64_t count) {
  const auto* table = service<quench_random>(QUENCH_SERVICE_RANDOM);
  if (table == nullptr) {
    throw Error(QUENCH_FAILED_PRECONDITION, "the host has no " QUENCH_SERVICE_RANDOM);
  }
  std::vector<uint64_t> values(count);
  table->uniform(current_host, stream.c_str(), counter, count, values.data());
  return values;
}

}  // namespace quench::kit
