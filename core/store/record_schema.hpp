// The fields of a record as data: what a reader may rely on, and what two records are compared by.
// docs/records.md says the same for people; a test holds the two together.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

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
  int since;      // schema version
  bool compared;  // false: may differ between two computations of one value
};

// By name, ascending: the order in which canonical JSON has them.
std::span<const RecordField> record_fields();

// Names that do not count in a comparison wherever they stand outside of `parts`: times, memory and
// what depends on who computed the record.
bool is_compared(std::string_view name);

// Takes out of a value, at any depth, what is not compared.
void strip_not_compared(nlohmann::json& value);

// The record without what is not compared: equal for two computations of one value.
nlohmann::json compared_json(const Record& record);

}  // namespace quench
