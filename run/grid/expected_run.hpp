// What a run is expected to take, before it begins, and how long the rest of it will take.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "run/grid/estimate.hpp"
#include "run/grid/peak_memory.hpp"
#include "run/grid/training_cost.hpp"

namespace quench {

struct ExpectedWork {
  // Seconds of each piece, in the order in which they are done; 0 for one that is done already.
  std::vector<double> pieces;
  // Nothing like it was measured on this machine: only the proportions of the pieces mean
  // something, and there is no estimate before some of it is done.
  bool guess = true;
};

// How long the rest of a run will take: its training and its cells, from what was expected of them
// and from how long they have taken so far.
class RunEta {
 public:
  using Clock = std::chrono::steady_clock;

  // `training`: one piece per segment. `cells`: one per cell of the run.
  RunEta(ExpectedWork training, ExpectedWork cells, Clock::time_point start);

  // So many steps of the current segment are trained. Fewer than before: the next segment began.
  void trained(uint64_t done, uint64_t total, Clock::time_point now);
  // So many cells are done.
  void measured(uint64_t cells, Clock::time_point now);
  // Seconds until the end of the run; nothing as long as that would be a guess. [thread-safe]
  std::optional<double> left(Clock::time_point now) const;

 private:
  struct Part {
    ExpectedWork expected;
    double total = 0;
    double done = 0;     // of total
    double seconds = 0;  // spent on it
  };
  static Part part_of(ExpectedWork expected);
  static std::optional<double> left_of(const Part& part);
  void spend(Part& part, Clock::time_point now);

  mutable std::mutex mutex_;
  Part training_;
  Part cells_;
  size_t segment_ = 0;
  uint64_t steps_ = 0;  // of the segment
  Clock::time_point last_;
};

// The experiments (indices) that train and lack none of their data; those that train the same thing
// count once.
std::vector<size_t> trainings_of(const std::vector<Experiment>& experiments);
// What these trainings will cost.
std::vector<TrainingCost> training_of(Catalog& catalog, const std::vector<Experiment>& experiments,
                                      const std::filesystem::path& home, const Rates& rates,
                                      uint32_t threads);
// Adds to `memory`, one of each experiment, the sizes of models that no checkpoint tells yet,
// because they are still to be trained. `training`: what training_of() gives, or nothing.
void add_trained_sizes(const std::vector<Experiment>& experiments,
                       const std::vector<TrainingCost>& training,
                       std::vector<MetricMemory>& memory);

struct ExpectedRun {
  ExpectedWork training;  // a piece per segment
  ExpectedWork cells;
  // Nothing if part of the work was never measured on this machine, or if there is none.
  std::optional<double> seconds() const;
};
// Draws no model whose training was never measured here.
ExpectedRun expected_run(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                         Identities& identities, const Rates& rates,
                         const std::filesystem::path& home);

}  // namespace quench
