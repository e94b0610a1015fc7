// A value: the field of a record, or the result of an expression over fields.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quench/kit/json.hpp"

namespace quench::tasks {

class Value;
using List = std::vector<Value>;
using Object = std::vector<std::pair<std::string, Value>>;  // ordered by key, not as in the file

class Value {
 public:
  Value() = default;  // null
  Value(bool value) : data_(value) {}
  Value(int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(List value) : data_(std::move(value)) {}
  Value(Object value) : data_(std::move(value)) {}
  // Everything below `at` in a JSON document.
  static Value of(const kit::JsonValue& value);
  static Value of(const kit::Json& json, const std::string& at = "");  // null if nothing is there

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&data_);
  }
  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  // "a string", "a list", ...
  const char* kind() const;
  // The value as a template prints it: text unchanged, True and False, numbers.
  std::string text() const;
  // The member of an object, or nullptr.
  const Value* find(const std::string& key) const;

  bool operator==(const Value&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Object> data_;
};

}  // namespace quench::tasks
