#include "core/plugin/handles/sink_room.hpp"

#include <cstring>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr uint64_t kOfEntry = 256;  // bytes that keeping anything takes beside what it holds

}  // namespace

void SinkRoom::take(const char* name, uint64_t bytes) {
  const uint64_t beside = kOfEntry + std::strlen(name);
  const uint64_t left = most_ - held_;
  if (beside > left || bytes > left - beside) {
    refused_ = fmt::format("{}: got {} bytes beside {} before, wanted at most {} for all {}",
                           printable(name), bytes, held_, most_, what_);
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}", refused_);
  }
  held_ += beside + bytes;
}

void SinkRoom::require_enough(const std::string& label) const {
  if (!refused_.empty()) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: {}", label, refused_);
  }
}

}  // namespace quench
