#include "metrics/tasks/value.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "quench/kit/parameters.hpp"

namespace quench::tasks {

Value Value::of(const kit::JsonValue& value) {
  switch (value.type()) {
    case QUENCH_JSON_BOOLEAN:
      return *value.boolean();
    case QUENCH_JSON_INTEGER:
      return *value.integer();
    case QUENCH_JSON_NUMBER:
      return *value.number();
    case QUENCH_JSON_STRING:
      return std::string(*value.string());
    case QUENCH_JSON_ARRAY: {
      List list;
      for (uint64_t i = 0; i < value.size(); ++i) {
        list.push_back(of(*value.element(i)));
      }
      return list;
    }
    case QUENCH_JSON_OBJECT: {
      Object object;
      value.each_member([&](std::string_view key, const kit::JsonValue& member) {
        object.emplace_back(key, of(member));
      });
      std::sort(object.begin(), object.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      return object;
    }
    default:
      return {};
  }
}

Value Value::of(const kit::Json& json, const std::string& at) {
  const std::optional<kit::JsonValue> found = json.find(at);
  return found ? of(*found) : Value();
}

const char* Value::kind() const {
  constexpr std::array<const char*, 7> kKinds = {"null",     "a boolean", "an integer", "a number",
                                                 "a string", "a list",    "an object"};
  return kKinds.at(data_.index());
}

std::string Value::text() const {
  if (const auto* value = as<std::string>()) {
    return *value;
  }
  if (const auto* value = as<int64_t>()) {
    return std::to_string(*value);
  }
  if (const auto* value = as<double>()) {
    return kit::detail::json_text(*value);
  }
  if (const auto* value = as<bool>()) {
    return *value ? "True" : "False";
  }
  kit::fail(QUENCH_INVALID_ARGUMENT, "got %s, wanted text or a number", kind());
}

const Value* Value::find(const std::string& key) const {
  if (const auto* object = as<Object>()) {
    for (const auto& [name, value] : *object) {
      if (name == key) {
        return &value;
      }
    }
  }
  return nullptr;
}

}  // namespace quench::tasks
