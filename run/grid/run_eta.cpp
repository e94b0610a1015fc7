#include "run/grid/run_eta.hpp"

#include <algorithm>
#include <numeric>

namespace quench {

namespace {

constexpr double kEnough = 0.02;  // share of a guessed part after which its pace is believed
// What was expected counts as much as this share of the part having been done at that pace, so that
// the first pieces do not move the estimate much.
constexpr double kTrust = 0.1;

double sum_of_first(const std::vector<double>& pieces, size_t count) {
  return std::accumulate(
      pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(std::min(count, pieces.size())),
      0.0);
}

}  // namespace

RunEta::RunEta(ExpectedWork training, ExpectedWork cells, Clock::time_point start)
    : training_(part_of(std::move(training))), cells_(part_of(std::move(cells))), last_(start) {}

RunEta::Part RunEta::part_of(ExpectedWork expected) {
  Part out;
  out.total = sum_of_first(expected.pieces, expected.pieces.size());
  out.expected = std::move(expected);
  return out;
}

void RunEta::spend(Part& part, Clock::time_point now) {
  part.seconds += std::chrono::duration<double>(now - last_).count();
  last_ = now;
}

void RunEta::trained(uint64_t done, uint64_t total, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  spend(training_, now);
  segment_ += done < steps_ ? 1 : 0;
  steps_ = done;
  const std::vector<double>& pieces = training_.expected.pieces;
  if (segment_ < pieces.size() && total > 0) {
    training_.done =
        sum_of_first(pieces, segment_) +
        pieces[segment_] * std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  }
}

void RunEta::measured(uint64_t cells, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  spend(cells_, now);
  cells_.done = sum_of_first(cells_.expected.pieces, cells);
}

std::optional<double> RunEta::left_of(const Part& part) {
  const double rest = part.total - part.done;
  if (rest <= 0) {
    return 0;
  }
  if (!part.expected.guess) {
    const double prior = kTrust * part.total;
    const double spent = part.done > 0 ? part.seconds : 0;
    return rest * (spent + prior) / (part.done + prior);
  }
  if (part.done < kEnough * part.total || part.done <= 0) {
    return std::nullopt;
  }
  return rest * part.seconds / part.done;
}

std::optional<double> RunEta::left(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const std::optional<double> training = left_of(training_);
  const std::optional<double> cells = left_of(cells_);
  if (!training || !cells) {
    return std::nullopt;
  }
  const double under_way = std::chrono::duration<double>(now - last_).count();
  return std::max(0.0, *training + *cells - under_way);
}

}  // namespace quench
