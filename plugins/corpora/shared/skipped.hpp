// Documents that a corpus was told to skip. The first few are logged with what is wrong with them;
// how many there are the host counts by their places in the corpus, which documents that are
// skipped take, too.
#pragma once

#include <cstdint>
#include <string>

#include "quench/kit/host.hpp"

namespace quench::corpora {

class Skipped {
 public:
  void add(const std::string& why) {
    constexpr uint64_t kLoggedOneByOne = 5;
    if (++count_ <= kLoggedOneByOne) {
      kit::log(QUENCH_LOG_WARNING, "skipped: " + why);
    }
  }
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0;
};

}  // namespace quench::corpora
