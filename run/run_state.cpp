#include "run/run_state.hpp"

#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

void RunState::say(const std::string& what) const {
  set_work(what);
  status.step(what, done, total);
}

std::vector<Record> RunState::keep(std::vector<Record> records) {
  if (claim != nullptr && !claim->held()) {
    lost = true;
    fail(QUENCH_UNAVAILABLE, "another process has taken over, and its values count");
  }
  losing_records = true;
  status.keep(records);
  history.publish(records);
  losing_records = false;
  has_value = has_value || records.front().error.empty();
  return records;
}

void RunState::throw_if_final(const Error& error) const {
  if (HostServices::instance().cancel_flag()) {
    fail(QUENCH_CANCELLED, "stopped on request");
  }
  if (losing_records || lost || options.fail_fast || (options.fail_without_values && !has_value)) {
    throw error;
  }
}

}  // namespace quench
