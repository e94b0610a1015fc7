#include "run/record_keeper.hpp"

#include "core/plugin/host_services.hpp"

namespace quench {

std::vector<Record> RecordKeeper::keep(std::vector<Record> records) {
  if (claim_ != nullptr && !claim_->held()) {
    lost_ = true;
    fail(QUENCH_UNAVAILABLE, "another process has taken over, and its values count");
  }
  losing_records_ = true;
  if (options_.on_records) {
    options_.on_records(records);
  }
  history_.publish(records);
  losing_records_ = false;
  has_value_ = has_value_ || records.front().error.empty();
  return records;
}

void RecordKeeper::throw_if_final(const Error& error) const {
  if (HostServices::instance().cancel_flag()) {
    fail(QUENCH_CANCELLED, "stopped on request");
  }
  if (losing_records_ || lost_ || options_.fail_fast ||
      (options_.fail_without_values && !has_value_)) {
    throw error;
  }
}

}  // namespace quench
