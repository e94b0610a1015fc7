// What a training will cost, from what trainings did cost on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "run/grid/estimate.hpp"
#include "train/train.hpp"

namespace quench {

struct LegCost {
  std::string branch;
  int64_t from = 0;
  int64_t to = 0;
  uint64_t tokens = 0;
  double flops = 0;
  double seconds = 0;
};

struct TrainingCost {
  std::vector<LegCost> legs;  // what is to be trained; empty when all is there
  uint64_t parameters = 0;
  uint64_t tokens = 0;
  double flops = 0;
  double seconds = 0;
  uint64_t memory = 0;  // bytes: weights, gradient, model, two moments; activations not counted
  Basis basis = Basis::kMeasured;
};

// Draws a model, to know its size, when something is to be trained. Throws Error where the model
// cannot be trained.
TrainingCost training_cost(Catalog& catalog, const Training& training,
                           const std::filesystem::path& home, const Rates& rates, uint32_t threads);

// Remembers what a training cost; that it could not is no failure.
void learn_training_rate(const std::filesystem::path& home, const Training& training,
                         const TrainOutcome& outcome);

}  // namespace quench
