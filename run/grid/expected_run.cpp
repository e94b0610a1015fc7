#include "run/grid/expected_run.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/plugin/services/host_services.hpp"
#include "run/grid/peak_memory.hpp"
#include "train/training_survey.hpp"

namespace quench {

namespace fs = std::filesystem;

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

namespace {

// Tokens of each segment: the proportions of a training of unknown speed.
ExpectedWork unmeasured(const std::vector<Experiment>& experiments, const fs::path& home) {
  ExpectedWork out;
  for (const size_t at : trainings_of(experiments)) {
    const Training& training = *experiments[at].training;
    for (const TrainingSegment& segment : survey_training(training, TrainedStates(home))) {
      out.pieces.push_back(static_cast<double>(segment.steps()) *
                           static_cast<double>(training.recipe.tokens_per_step()));
    }
  }
  return out;
}

ExpectedWork measured(const std::vector<TrainingCost>& training) {
  ExpectedWork out;
  out.guess = false;
  for (const TrainingCost& cost : training) {
    for (const SegmentCost& segment : cost.segments) {
      out.pieces.push_back(segment.seconds);
    }
  }
  return out;
}

ExpectedWork expected_cells(const std::vector<Experiment>& experiments,
                            const std::vector<Cell>& cells, Identities& identities,
                            const Rates& rates, const std::vector<TrainingCost>& training) {
  std::vector<MetricMemory> described =
      predict_metric_memory(identities.catalog(), experiments, identities.hub());
  add_trained_sizes(experiments, training, described);
  const PlanCost cost = estimate(experiments, cells, identities, rates,
                                 HostServices::instance().threads(), described);
  ExpectedWork out;
  out.guess = cost.total.basis == Basis::kNominal;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool computed = cells[i].state == CellState::kToDo;
    // Of cells about which nothing is known each counts the same.
    const double expected = cost.cells[i].seconds;
    out.pieces.push_back(!computed ? 0 : out.guess && expected <= 0 ? 1 : expected);
  }
  return out;
}

double sum(const std::vector<double>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), 0.0);
}

}  // namespace

std::vector<size_t> trainings_of(const std::vector<Experiment>& experiments) {
  std::vector<size_t> out;
  std::set<std::string> seen;
  for (size_t i = 0; i < experiments.size(); ++i) {
    // No estimate for a training whose data is missing: it would draw a model to learn the size.
    if (experiments[i].training != nullptr && experiments[i].absent.empty() &&
        seen.insert(experiments[i].checkpoints.back().location).second) {
      out.push_back(i);
    }
  }
  return out;
}

std::vector<TrainingCost> training_of(Catalog& catalog, const std::vector<Experiment>& experiments,
                                      const fs::path& home, const Rates& rates, uint32_t threads) {
  std::vector<TrainingCost> out;
  for (const size_t at : trainings_of(experiments)) {
    out.push_back(training_cost(catalog, *experiments[at].training, home, rates, threads));
  }
  return out;
}

void add_trained_sizes(const std::vector<Experiment>& experiments,
                       const std::vector<TrainingCost>& training,
                       std::vector<MetricMemory>& memory) {
  const std::vector<size_t> trained = trainings_of(experiments);
  const size_t known = std::min(trained.size(), training.size());
  for (size_t i = 0; i < experiments.size(); ++i) {
    for (size_t t = 0; t < known && experiments[i].training != nullptr; ++t) {
      if (experiments[trained[t]].checkpoints.back().location ==
          experiments[i].checkpoints.back().location) {
        memory[i].parameters = std::max(memory[i].parameters, training[t].parameters);
      }
    }
  }
}

std::optional<double> ExpectedRun::seconds() const {
  const auto known = [](const ExpectedWork& work) { return !work.guess || sum(work.pieces) <= 0; };
  if (!known(training) || !known(cells)) {
    return std::nullopt;
  }
  const double work = sum(training.pieces) + sum(cells.pieces);
  return work > 0 ? std::optional(kStartSeconds + work) : std::nullopt;
}

ExpectedRun expected_run(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                         Identities& identities, const Rates& rates, const fs::path& home) {
  const std::vector<size_t> trained = trainings_of(experiments);
  // Else a size would take a model that is drawn, and there is no estimate whatever it says.
  const bool known = std::all_of(trained.begin(), trained.end(), [&](size_t at) {
    return knows_training(rates, *experiments[at].training);
  });
  const std::vector<TrainingCost> training =
      known ? training_of(identities.catalog(), experiments, home, rates,
                          HostServices::instance().threads())
            : std::vector<TrainingCost>();
  return {known ? measured(training) : unmeasured(experiments, home),
          expected_cells(experiments, cells, identities, rates, training)};
}

}  // namespace quench
