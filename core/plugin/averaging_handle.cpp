#include "core/plugin/averaging_handle.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "core/plugin/instance.hpp"

namespace quench {

namespace {

// A scheme that keeps every member of a chunk needs this many sums for 256 members.
constexpr uint64_t kMostSums = uint64_t{QUENCH_AVERAGING_CHUNK} << 8;

}  // namespace

AveragingHandle::AveragingHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      label_(plugin_label(description)),
      table_(load_table<quench_averaging_table>(catalog, description)),
      averaging_(create_instance(label_, "create", table_->create, parameters)) {}

AveragingHandle::~AveragingHandle() {
  if (averaging_ != nullptr) {
    const PluginCall call(label_.c_str(), "destroy");
    table_->destroy(averaging_);
  }
}

AveragingHandle::AveragingHandle(AveragingHandle&& other) noexcept
    : id_(std::move(other.id_)),
      label_(std::move(other.label_)),
      table_(other.table_),
      averaging_(std::exchange(other.averaging_, nullptr)) {}

uint32_t AveragingHandle::needs() const {
  return guarded_call(label_, "needs", {}, table_->needs, averaging_);
}

std::vector<uint64_t> AveragingHandle::select(std::span<const quench_averaging_member> members,
                                              uint64_t last) {
  std::vector<uint64_t> selected(members.size());
  uint64_t count = 0;
  table_call(label_, "select", table_->select, averaging_, members.data(), uint64_t{members.size()},
             last, selected.data(), &count);
  if (count == 0 || count > members.size()) {
    fail(QUENCH_INTERNAL, "{}: selects {} of {} members", label_, count, members.size());
  }
  selected.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (selected[i] >= members.size() || (i > 0 && selected[i] <= selected[i - 1])) {
      fail(QUENCH_INTERNAL, "{}: selects member {} of {}, expected ascending indices", label_,
           selected[i], members.size());
    }
  }
  return selected;
}

void AveragingHandle::begin(std::span<const quench_averaging_member> members) {
  table_call(label_, "begin", table_->begin, averaging_, members.data(), uint64_t{members.size()});
}

void AveragingHandle::accumulate(uint64_t member, std::span<const double> values) {
  table_call(label_, "accumulate", table_->accumulate, averaging_, member, values.data(),
             uint64_t{values.size()});
}

void AveragingHandle::finish(std::span<double> values) {
  table_call(label_, "finish", table_->finish, averaging_, values.data(), uint64_t{values.size()});
}

uint64_t AveragingHandle::sums_size() const {
  if (!resumes()) {
    fail(QUENCH_INTERNAL, "{}: exports no sums", label_);
  }
  uint64_t count = 0;
  table_call(label_, "size of sums", table_->sums_size, averaging_, &count);
  if (count == 0 || count > kMostSums) {
    fail(QUENCH_INTERNAL, "{}: its sums have {} values, wanted 1..{}", label_, count, kMostSums);
  }
  return count;
}

std::vector<double> AveragingHandle::sums() const {
  std::vector<double> out(sums_size());
  table_call(label_, "sums", table_->sums_get, averaging_, out.data(), uint64_t{out.size()});
  return out;
}

void AveragingHandle::resume(uint64_t members, uint64_t chunk, std::span<const double> sums) {
  if (!resumes()) {
    fail(QUENCH_INTERNAL, "{}: restores no sums", label_);
  }
  table_call(label_, "resume", table_->sums_set, averaging_, members, chunk, sums.data(),
             uint64_t{sums.size()});
}

void AveragingHandle::begin(std::span<const quench_averaging_member> members,
                            std::span<const double> weights) {
  if (!searches() || weights.size() != members.size()) {
    fail(QUENCH_INTERNAL, "{}: {} weights for {} members", label_, weights.size(), members.size());
  }
  table_call(label_, "begin", table_->begin_weighted, averaging_, members.data(),
             uint64_t{members.size()}, weights.data());
}

namespace {

// The score as a plugin calls it; an exception waits here until the plugin has returned.
struct ScoreCall {
  const std::function<double(std::span<const double>)>& score;
  std::exception_ptr thrown;

  static quench_status call(void* context, const double* weights, uint64_t count, double* value,
                            quench_error* error) noexcept {
    auto& self = *static_cast<ScoreCall*>(context);
    try {
      *value = self.score({weights, count});
      return QUENCH_OK;
    } catch (const Error& failure) {
      self.thrown = std::current_exception();
      return report_error(error, failure.code(), failure.what());
    } catch (...) {
      self.thrown = std::current_exception();
      return report_error(error, QUENCH_INTERNAL, "the score failed");
    }
  }
};

}  // namespace

std::vector<double> AveragingHandle::search(
    std::span<const quench_averaging_member> members,
    const std::function<double(std::span<const double>)>& score) {
  if (!searches()) {
    fail(QUENCH_INTERNAL, "{}: does not search", label_);
  }
  std::vector<double> weights(members.size());
  ScoreCall call{score, nullptr};
  quench_error error{sizeof error, 0, {}};
  const quench_status status =
      guarded_call(label_, "search", {}, table_->search, averaging_, members.data(),
                   uint64_t{members.size()}, &ScoreCall::call, &call, weights.data(), &error);
  if (call.thrown) {
    std::rethrow_exception(call.thrown);
  }
  if (status != QUENCH_OK) {
    throw_status(label_, "search", status, error);
  }
  const auto is_finite = [](double weight) { return std::isfinite(weight); };
  const auto is_zero = [](double weight) { return weight == 0; };
  if (!std::all_of(weights.begin(), weights.end(), is_finite) ||
      std::all_of(weights.begin(), weights.end(), is_zero)) {
    fail(QUENCH_INTERNAL, "{}: its search chose no member, or a weight that is not finite", label_);
  }
  return weights;
}

}  // namespace quench
