// Values computed from one value of the float model and one of a quantized model: ΔQL from losses,
// the relative drop from accuracies. No file stores them. What shows records computes them here,
// so they exist exactly as long as the values they derive from count.
//
// A metric determines what can be derived from it: its first value, by unit and
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

// A loss in nats per token: ΔCE and ΔQL are defined for it.
bool is_loss(const Record& record);
// The share of questions that a model answers correctly.
bool is_accuracy(const Record& record);

// ΔQL = quantized/floating − 1 of two losses.
double quantization_error(double floating, double quantized);

// Everything that a float and a quantized value must share to be comparable, as text: weights,
// metric, corpora, environment, by the contents in the parts of their keys; only where a record has
// none by their names. Equal for a record and for its line.
std::string common_ground(const Record& record);
std::string common_ground(const RecordLine& line);

// The float models' values by common ground: prefers the value of the same point of the sweep, else
// takes the first of another point.
class FloatValues {
 public:
  // The first value of a common ground and a point counts.
  void add(std::string ground, uint64_t job, size_t place);
  std::optional<size_t> find(const std::string& ground, uint64_t job) const;

 private:
  std::unordered_map<std::string, std::map<uint64_t, size_t>> places_;
};

// Adds and counts the values that derive from the counted lines. Each is a copy of the
// quantized value's record with its own metric, value, standard error and details, and
// without key, parts and items. The standard error is that of the mean difference of
// paired items, if both values have equally many; the float value is taken as exact. Adds
// a failed record that says why if there is no ratio to the float value, and nothing if there is
// no float value: these lines are returned.
std::vector<size_t> add_derived(RunScan& scan);

// The records, each evaluation followed by the values derived from it.
std::vector<Record> with_derived(const std::vector<Record>& records);

}  // namespace quench
