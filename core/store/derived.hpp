// Values that are worked out from one of the float model and one of a quantized model: ΔQL of a
// loss, the relative drop of an accuracy. No file holds them: whoever shows records has them
// computed here, so that they are there exactly as long as what they derive from counts.
//
// Which values derive something is said by the metric: the first value that it gives, by unit and
// direction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/store/record.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

// Names of derived values. Earlier versions stored records under these names; they do not count.
bool is_derived(std::string_view metric);

// A loss in nats per token: what ΔCE and ΔQL are defined for.
bool is_loss(const Record& record);
// The share of questions that a model answers rightly.
bool is_accuracy(const Record& record);

// ΔQL = quantized/floating − 1, of losses.
double quantization_error(double floating, double quantized);

// All that the values of a float and of a quantized model must have in common to be compared, as
// text: weights, metric, corpora, environment. The same for a record and for its line.
std::string common_ground(const Record& record);
std::string common_ground(const RecordLine& line);

// The values of float models, found by common ground: that of the same point of the sweep, or of
// the first other one.
class FloatValues {
 public:
  // The first of a ground and a point counts.
  void add(std::string ground, uint64_t job, size_t place);
  std::optional<size_t> find(const std::string& ground, uint64_t job) const;

 private:
  std::unordered_map<std::string, std::map<uint64_t, size_t>> places_;
};

// Adds the values that derive from the counted lines to the lines, and counts them. Each is a copy
// of the quantized value's record with a metric, a value, a standard error and details of its own,
// and without key, parts and items. The standard error is that of the mean difference of paired
// items, where both values have the same number of them, the float value taken as given. Where no
// float value is there, nothing is added; where no ratio to it exists, a failed record that says
// so.
void add_derived(RunScan& scan);

// The records, each evaluation followed by what derives from it.
std::vector<Record> with_derived(const std::vector<Record>& records);

}  // namespace quench
