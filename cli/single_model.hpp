// The one model that `quench eval` and `quench quantize` are about, as their arguments name it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "core/experiment/experiment.hpp"

namespace quench {

struct SingleModel {
  std::string model;
  std::string calibration;
  std::string tokenizer;
  std::string dtype = "float32";
  std::string device = "cpu";
  uint64_t seed = 0;
};

// `to` outlives the command.
void add_single_model(CLI::App& command, SingleModel& to);
// An experiment of that checkpoint as it is, without quantizers and metrics. Throws Error for a
// dtype, a device, a tokenizer or a place that is none.
Experiment experiment_of(const SingleModel& model, Catalog& catalog);

}  // namespace quench
