#include "run/grid/expected_run.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/plugin/services/host_services.hpp"
#include "run/manifest/metric_memory.hpp"
#include "train/training_survey.hpp"

namespace quench {

namespace fs = std::filesystem;

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

ExpectedWork expected_training(Catalog& catalog, const std::vector<Experiment>& experiments,
                               const Rates& rates, const fs::path& home) {
  const std::vector<size_t> trained = trainings_of(experiments);
  const bool measured = std::all_of(trained.begin(), trained.end(), [&](size_t at) {
    return knows_training(rates, *experiments[at].training);
  });
  if (!measured) {
    return unmeasured(experiments, home);
  }
  ExpectedWork out;
  out.guess = false;
  for (const TrainingCost& cost : training_of(catalog, experiments, home, rates)) {
    for (const SegmentCost& segment : cost.segments) {
      out.pieces.push_back(segment.seconds);
    }
  }
  return out;
}

ExpectedWork expected_cells(const std::vector<Experiment>& experiments,
                            const std::vector<Cell>& cells, Identities& identities,
                            const Rates& rates) {
  std::vector<MetricMemory> described;  // its sizes count for models that are yet to be trained
  for (const Experiment& experiment : experiments) {
    described.push_back(predict_metric_memory(identities.catalog(), experiment, identities.hub()));
  }
  const PlanCost cost = estimate(experiments, cells, identities, rates,
                                 HostServices::instance().threads(), described);
  ExpectedWork out;
  out.guess = cost.total.basis == Basis::kNominal;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool computed = cells[i].state == CellState::kToDo;
    // Of cells about which nothing is known each counts the same.
    const double seconds = cost.cells[i].seconds;
    out.pieces.push_back(!computed ? 0 : out.guess && seconds <= 0 ? 1 : seconds);
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
                                      const fs::path& home, const Rates& rates) {
  std::vector<TrainingCost> out;
  for (const size_t at : trainings_of(experiments)) {
    out.push_back(training_cost(catalog, *experiments[at].training, home, rates,
                                HostServices::instance().threads()));
  }
  return out;
}

std::optional<double> ExpectedRun::seconds() const {
  const auto known = [](const ExpectedWork& work) { return !work.guess || sum(work.pieces) <= 0; };
  if (!known(training) || !known(cells)) {
    return std::nullopt;
  }
  return sum(training.pieces) + sum(cells.pieces);
}

ExpectedRun expected_run(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                         Identities& identities, const Rates& rates, const fs::path& home) {
  return {expected_training(identities.catalog(), experiments, rates, home),
          expected_cells(experiments, cells, identities, rates)};
}

}  // namespace quench
