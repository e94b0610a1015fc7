// The single model of `quench eval`, `quantize`, `gate` and `compare`, from their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/store/record.hpp"

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

// `sciq,piqa,shots=5` as a metric: of the one whose parameter `tasks` names what it asks. Throws
// UsageError where there is none.
std::string task_metric(const std::string& tasks, const Catalog& catalog);

// The records of that experiment, of which nothing is kept; progress is shown. Throws Error if
// there is no value at all; with `fail_fast` if any cell fails.
std::vector<Record> measure_once(const Experiment& experiment, Context& context,
                                 bool fail_fast = false);

}  // namespace quench
