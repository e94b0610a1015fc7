#include "metrics/tasks/value.hpp"

#include <algorithm>
#include <array>

#include "quench/kit/parameters.hpp"

namespace quench::tasks {

namespace {

// One step of a JSON pointer (RFC 6901).
std::string step(const std::string& key) {
  std::string out = "/";
  for (const char c : key) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

}  // namespace

Value Value::of(const kit::Json& json, const std::string& at) {
  switch (json.type(at)) {
    case QUENCH_JSON_BOOLEAN:
      return json.boolean(at);
    case QUENCH_JSON_INTEGER:
      return json.integer(at);
    case QUENCH_JSON_NUMBER:
      return json.number(at);
    case QUENCH_JSON_STRING:
      return json.string(at);
    case QUENCH_JSON_ARRAY: {
      List list;
      for (uint64_t i = 0; i < json.size(at); ++i) {
        list.push_back(of(json, at + "/" + std::to_string(i)));
      }
      return list;
    }
    case QUENCH_JSON_OBJECT: {
      Object object;
      for (const std::string& key : json.keys(at)) {
        object.emplace_back(key, of(json, at + step(key)));
      }
      std::sort(object.begin(), object.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      return object;
    }
    default:
      return {};
  }
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
