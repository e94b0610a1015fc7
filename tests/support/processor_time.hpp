// How long a computation takes, for bounds that tell linear from quadratic time.
#pragma once

#include <ctime>

namespace quench::test {

// Processor time of this process since the construction: others on the machine do not count.
class ProcessorTime {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace quench::test
