// Values computed from one value of the float model and one of a quantized model: ΔQL from losses,
// the relative drop from accuracies. No file stores them. What shows records computes them here,
// so they exist exactly as long as the values they derive from count.
//
// A metric determines what can be derived from it: its first value, by unit and
// direction.
#pragma once

#include <string_view>
#include <vector>

#include "core/store/record.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

// Names of derived values. Earlier versions stored records under these names; they do not count.
bool is_derived(std::string_view metric);

// Adds and counts the values that derive from the counted lines: from a float and a quantized value
// that have all in common, with the float value of the same point of the sweep before those of
// others. Each is a copy of the quantized value's record with its own metric, value, standard error
// and details, and without key, parts and items. The standard error is that of the mean difference
// of paired items, if both values have equally many; the float value is taken as exact. Adds a
// failed record that says why if there is no ratio to the float value, and nothing if there is no
// float value: these lines are returned.
std::vector<size_t> add_derived(RunScan& scan);

// The records, each evaluation followed by the values derived from it.
std::vector<Record> with_derived(const std::vector<Record>& records);

}  // namespace quench
