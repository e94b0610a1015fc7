#include "tests/support/pretended_device/recording.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace quench::test {

namespace {

struct Open {
  std::mutex mutex;
  std::optional<Told> told;
  bool spoilt = false;
};

Open& open_recording() {
  static auto* open = new Open;
  return *open;
}

}  // namespace

bool begin_recording() {
  Open& open = open_recording();
  const std::lock_guard lock(open.mutex);
  const bool free = !open.told;
  if (free) {
    open.told.emplace();
  }
  return free;
}

std::optional<Told> end_recording() {
  Open& open = open_recording();
  const std::lock_guard lock(open.mutex);
  std::optional<Told> told = std::exchange(open.told, std::nullopt);
  return std::exchange(open.spoilt, false) ? std::nullopt : told;
}

void spoil_recording() {
  Open& open = open_recording();
  const std::lock_guard lock(open.mutex);
  open.spoilt = open.told.has_value();
}

bool is_recording() {
  Open& open = open_recording();
  const std::lock_guard lock(open.mutex);
  return open.told.has_value();
}

void tell(const std::function<void()>& work) {
  Open& open = open_recording();
  {
    const std::lock_guard lock(open.mutex);
    if (open.told) {
      open.told->push_back(work);
      return;
    }
  }
  work();
}

}  // namespace quench::test
