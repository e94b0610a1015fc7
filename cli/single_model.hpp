// The single model of `quench eval` and `quench quantize`, from their arguments.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command_line.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"

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
void add_single_model(Verb& verb, SingleModel& to);
// An experiment of that checkpoint without quantizers and metrics. Throws Error for an unknown
// dtype, device or tokenizer, or an invalid path.
Experiment experiment_of(const SingleModel& model, Catalog& catalog, const HubEnvironment& hub);

}  // namespace quench
