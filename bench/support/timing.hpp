// Clocks and the few statistics that benchmarks print.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace quench::bench {

// Seconds of a monotonic clock.
inline double wall_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& value) {
    return static_cast<double>(value.tv_sec) + 1e-6 * static_cast<double>(value.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Processor seconds of all threads of this process, user and system: what a busy machine does not
// stretch.
inline double processor_clock() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage);
}

// Processor seconds that `body` took.
template <typename Body>
double processor_seconds(Body&& body) {
  const double start = processor_clock();
  body();
  return processor_clock() - start;
}

// Repeated measurements of one thing, in any unit.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  double least() const { return *std::min_element(values_.begin(), values_.end()); }
  double median() const {
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

 private:
  std::vector<double> values_;
};

}  // namespace quench::bench
