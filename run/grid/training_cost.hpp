// Predicts the cost of a training from earlier trainings on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "run/grid/estimate.hpp"
#include "train/train.hpp"

namespace quench {

struct SegmentCost {
  std::string branch;
  int64_t from = 0;
  int64_t to = 0;
  uint64_t tokens = 0;
  double flops = 0;
  double seconds = 0;
};

struct TrainingCost {
  std::vector<SegmentCost> segments;  // what is to be trained; empty if nothing is missing
  uint64_t parameters = 0;
  uint64_t tokens = 0;
  double flops = 0;
  double seconds = 0;
  uint64_t memory = 0;  // bytes: weights, gradient, model, two moments; without activations
  Basis basis = Basis::kMeasured;
};

// Describes the model to learn its size if something must be trained. Throws Error if the model
// cannot be trained.
TrainingCost training_cost(Catalog& catalog, const Training& training,
                           const std::filesystem::path& home, const Rates& rates, uint32_t threads);

// Whether a training of this family was measured on this machine.
bool knows_training(const Rates& rates, const Training& training);

// Remembers what a training cost; ignores failures.
void learn_training_rate(const std::filesystem::path& home, const Training& training,
                         const TrainOutcome& outcome);

}  // namespace quench
