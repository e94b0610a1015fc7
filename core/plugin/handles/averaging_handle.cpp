#include "core/plugin/handles/averaging_handle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/plugin/handles/instance.hpp"

namespace quench {

namespace {

// A scheme that keeps every member of a chunk needs this many sums for 256 members.
constexpr uint64_t kMostSums = uint64_t{QUENCH_AVERAGING_CHUNK} << 8;

}  // namespace

AveragingHandle::AveragingHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      averaging_(make_instance<&quench_averaging_table::create, &quench_averaging_table::destroy>(
          catalog, description, parameters)) {}

uint32_t AveragingHandle::needs() const {
  return averaging_.call<&quench_averaging_table::needs>();
}

std::vector<uint64_t> AveragingHandle::select(std::span<const quench_averaging_member> members,
                                              uint64_t last) {
  std::vector<uint64_t> selected(members.size());
  uint64_t count = 0;
  averaging_.call<&quench_averaging_table::select>(members.data(), members.size(), last,
                                                   selected.data(), &count);
  if (count == 0 || count > members.size()) {
    fail(QUENCH_INTERNAL, "{}: selects {} of {} members", averaging_.label(), count,
         members.size());
  }
  selected.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (selected[i] >= members.size() || (i > 0 && selected[i] <= selected[i - 1])) {
      fail(QUENCH_INTERNAL, "{}: selects member {} of {}, wanted ascending indices",
           averaging_.label(), selected[i], members.size());
    }
  }
  return selected;
}

void AveragingHandle::begin(std::span<const quench_averaging_member> members) {
  averaging_.call<&quench_averaging_table::begin>(members.data(), members.size());
}

void AveragingHandle::accumulate(uint64_t member, std::span<const double> values) {
  averaging_.call<&quench_averaging_table::accumulate>(member, values.data(), values.size());
}

void AveragingHandle::finish(std::span<double> values) {
  averaging_.call<&quench_averaging_table::finish>(values.data(), values.size());
}

uint64_t AveragingHandle::sums_size() const {
  uint64_t count = 0;
  averaging_.call<&quench_averaging_table::sums_size>(&count);
  if (count == 0 || count > kMostSums) {
    fail(QUENCH_INTERNAL, "{}: its sums have {} values, wanted 1..{}", averaging_.label(), count,
         kMostSums);
  }
  return count;
}

std::vector<double> AveragingHandle::sums() const {
  std::vector<double> out(sums_size());
  averaging_.call<&quench_averaging_table::sums_get>(out.data(), out.size());
  return out;
}

void AveragingHandle::resume(uint64_t members, uint64_t chunk, std::span<const double> sums) {
  averaging_.call<&quench_averaging_table::sums_set>(members, chunk, sums.data(), sums.size());
}

void AveragingHandle::begin(std::span<const quench_averaging_member> members,
                            std::span<const double> weights) {
  if (weights.size() != members.size()) {
    fail(QUENCH_INTERNAL, "{}: {} weights for {} members", averaging_.label(), weights.size(),
         members.size());
  }
  averaging_.call<&quench_averaging_table::begin_weighted>(members.data(), members.size(),
                                                           weights.data());
}

namespace {

// The score as a plugin calls it.
struct ScoreCall {
  const std::function<double(std::span<const double>)>& score;
  Thrown thrown = {};

  static quench_status call(void* context, const double* weights, uint64_t count, double* value,
                            quench_error* error) noexcept {
    auto& self = *static_cast<ScoreCall*>(context);
    return self.thrown.keep(error, [&] { *value = self.score({weights, count}); });
  }
};

}  // namespace

std::vector<double> AveragingHandle::search(
    std::span<const quench_averaging_member> members,
    const std::function<double(std::span<const double>)>& score) {
  std::vector<double> weights(members.size());
  ScoreCall call{score};
  quench_error error{sizeof error, 0, {}};
  const quench_status status = averaging_.call<&quench_averaging_table::search>(
      members.data(), members.size(), &ScoreCall::call, &call, weights.data(), &error);
  call.thrown.rethrow_or(averaging_.label(), "search", status, error);
  const auto is_finite = [](double weight) { return std::isfinite(weight); };
  const auto is_zero = [](double weight) { return weight == 0; };
  if (!std::all_of(weights.begin(), weights.end(), is_finite) ||
      std::all_of(weights.begin(), weights.end(), is_zero)) {
    fail(QUENCH_INTERNAL, "{}: its search chose no member, or a weight that is not finite",
         averaging_.label());
  }
  return weights;
}

}  // namespace quench
