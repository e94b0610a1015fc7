// The devices that contracts are held on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

namespace quench::test {

// Skips the calling test where this machine has no such device ("cpu" or "cuda:0").
void need_device(const Workplace& here, const std::string& device);

// What a record calls it: a GPU by its model and compute capability.
std::string recorded_device(const Workplace& here, const std::string& device);

// {metric, its label, job, checkpoint, averaging, quantizer: value}
using Values = std::map<std::vector<std::string>, double>;

// What a run of the manifest `m.yaml` of that folder measures. `environment`: set for it, too.
// `said` (or null) becomes what it said on stderr.
Values measured(const Workplace& here, const std::string& device,
                const std::vector<std::string>& environment = {}, std::string* said = nullptr);

// The largest magnitude of each metric and label.
std::map<std::string, double> largest_of(const Values& values);
std::string kind_of(const std::vector<std::string>& place);
// How far a value may jump, relative to itself, because a search stops there: sharpness brackets
// its critical step to 2 %. 0 of all others.
double jump_of(const std::vector<std::string>& place);

}  // namespace quench::test
