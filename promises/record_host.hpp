// Questions for metrics that read records: the part of the host, over files.
#pragma once

#include <string>

#include "quench/abi/kind/metric.h"

namespace quench::promises {

// Asks the metric what it wants and hands it the records: data sets of JSON lines. YAML that a
// metric asks for is taken to be JSON; YAML in its own binary becomes a task that is not asked for.
// Returns what was wrong, or "".
std::string hand_records(const quench_metric_table& table, quench_metric* metric);

}  // namespace quench::promises
