// The single model of `quench eval` and `quench quantize`, from their arguments.
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

// `to` must outlive the command.
void add_single_model(CLI::App& command, SingleModel& to);
// An experiment of that checkpoint without quantizers and metrics. Throws Error for an unknown
// dtype, device or tokenizer, or an invalid path.
Experiment experiment_of(const SingleModel& model, Catalog& catalog);

}  // namespace quench
