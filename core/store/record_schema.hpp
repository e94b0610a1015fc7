// The fields of a record as data: what a reader may rely on and what a comparison of two records
// uses. docs/records.md documents them; a test keeps the two equal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/store/difference.hpp"
#include "core/store/record.hpp"

namespace quench {

enum class FieldType {
  kText,
  kTextOrNull,
  kCount,
  kCountOrNull,
  kInteger,
  kNumber,
  kNumberOrNull,
  kNumbers,
  kObject,
  kObjectOrNull
};

struct RecordField {
  std::string_view name;
  FieldType type;
  bool compared;  // false: may differ between two computations of one value
};

// Sorted by name, the order of canonical JSON.
std::span<const RecordField> record_fields();

// Whether a name takes part in a comparison. Outside of `parts`, times, memory, processes and what
// depends on who computed the record do not.
bool is_compared(std::string_view name);

// Removes from a value, at any depth, what is not compared.
void strip_not_compared(nlohmann::json& value);

// Removes from `details` what a manifest calls its corpora and its calibration: a key has their
// content, so two manifests may have other names for one value.
void strip_given_names(nlohmann::json& details);

// Where `is`, another computation of an evaluation, does not say what `was` said: the first place
// in values, standard errors, items and details. Details may say more than they did.
std::optional<Difference> first_disagreement(const std::vector<Record>& was,
                                             const std::vector<Record>& is);

}  // namespace quench
