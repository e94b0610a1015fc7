// JSON documents, value by value or by paths.
#pragma once

#include <algorithm>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quench/kit/host.hpp"

namespace quench::kit {

// The service, or FAILED_PRECONDITION from a host that lacks it.
inline const quench_json& json_service() {
  const auto* table = service<quench_json>(QUENCH_SERVICE_JSON);
  if (table == nullptr) {
    throw Error(QUENCH_FAILED_PRECONDITION, "the host has no " QUENCH_SERVICE_JSON);
  }
  return *table;
}

// A value of a document, which it borrows. Reading one as another type than it has gives nothing.
class JsonValue {
 public:
  JsonValue(const quench_json& table, const quench_json_value* value)
      : table_(&table), value_(value) {}

  int32_t type() const { return table_->type(value_); }  // QUENCH_JSON_*
  bool is_object() const { return type() == QUENCH_JSON_OBJECT; }
  bool is_array() const { return type() == QUENCH_JSON_ARRAY; }
  uint64_t size() const { return table_->size(value_); }

  std::optional<JsonValue> member(std::string_view key) const {
    return wrap(table_->member(value_, key.data(), key.size()));
  }
  std::optional<JsonValue> element(uint64_t index) const {
    return wrap(table_->element(value_, index));
  }
  // take(std::string_view key, JsonValue) for every member, in the document's order. What it throws
  // ends the walk and is thrown here again.
  template <typename Take>
  void each_member(Take&& take) const {
    struct Context {
      const quench_json* table;
      std::remove_reference_t<Take>* take;
      std::exception_ptr thrown;
    } context{table_, &take, nullptr};
    const auto call = [](void* user, const char* key, uint64_t bytes,
                         const quench_json_value* member) noexcept -> quench_status {
      auto& own = *static_cast<Context*>(user);
      try {
        (*own.take)(std::string_view(key, bytes), JsonValue(*own.table, member));
        return QUENCH_OK;
      } catch (...) {
        own.thrown = std::current_exception();
        return QUENCH_END;
      }
    };
    table_->each_member(value_, call, &context);
    if (context.thrown) {
      std::rethrow_exception(context.thrown);
    }
  }

  std::optional<bool> boolean() const {
    int32_t out = 0;
    return table_->boolean(value_, &out) == QUENCH_OK ? std::optional(out != 0) : std::nullopt;
  }
  std::optional<int64_t> integer() const {
    int64_t out = 0;
    return table_->integer(value_, &out) == QUENCH_OK ? std::optional(out) : std::nullopt;
  }
  std::optional<double> number() const {
    double out = 0;
    return table_->number(value_, &out) == QUENCH_OK ? std::optional(out) : std::nullopt;
  }
  // Valid as long as the document.
  std::optional<std::string_view> string() const {
    const char* text = nullptr;
    uint64_t bytes = 0;
    return table_->string(value_, &text, &bytes) == QUENCH_OK
               ? std::optional(std::string_view(text, bytes))
               : std::nullopt;
  }

 private:
  std::optional<JsonValue> wrap(const quench_json_value* value) const {
    return value != nullptr ? std::optional(JsonValue(*table_, value)) : std::nullopt;
  }

  const quench_json* table_;
  const quench_json_value* value_;
};

// A document that owns its values. `name` stands for it in messages.
class JsonDocument {
 public:
  JsonDocument(std::string_view text, const char* name) : table_(&json_service()) {
    quench_json_document* document = nullptr;
    quench_error error{sizeof error, 0, {}};
    check(table_->parse(current_host, name, text.data(), text.size(), &document, &error), error);
    document_ = {document, table_->release};
  }
  JsonValue root() const { return {*table_, table_->root(document_.get())}; }

 private:
  const quench_json* table_;
  std::unique_ptr<quench_json_document, void (*)(quench_json_document*) noexcept> document_{
      nullptr, nullptr};
};

// A document whose values are named by paths: "/rope_scaling/factor", "/layer_types/0"; "" is the
// root. A key that has a "/" is reached by the value's `member`.
class Json {
 public:
  Json(const char* text, uint64_t bytes) : document_({text, bytes}, "JSON") {}

  std::optional<JsonValue> find(std::string_view path) const {
    std::optional<JsonValue> value = document_.root();
    while (value && !path.empty()) {
      const size_t end = std::min(path.find('/', 1), path.size());
      value = path.front() == '/' ? step(*value, path.substr(1, end - 1)) : std::nullopt;
      path.remove_prefix(end);
    }
    return value;
  }
  int32_t type(const std::string& at) const {
    const std::optional<JsonValue> value = find(at);
    return value ? value->type() : QUENCH_JSON_ABSENT;
  }
  bool has(const std::string& at) const {
    const int32_t found = type(at);
    return found != QUENCH_JSON_ABSENT && found != QUENCH_JSON_NULL;
  }
  // NOT_FOUND if nothing is there, INVALID_ARGUMENT for a value of another type.
  bool boolean(const std::string& at) const { return read(at, &JsonValue::boolean, "a boolean"); }
  int64_t integer(const std::string& at) const {
    return read(at, &JsonValue::integer, "an integer");
  }
  double number(const std::string& at) const { return read(at, &JsonValue::number, "a number"); }
  std::string string(const std::string& at) const {
    return std::string(read(at, &JsonValue::string, "text"));
  }
  int64_t integer_or(const std::string& at, int64_t otherwise) const {
    return has(at) ? integer(at) : otherwise;
  }
  double number_or(const std::string& at, double otherwise) const {
    return has(at) ? number(at) : otherwise;
  }
  bool boolean_or(const std::string& at, bool otherwise) const {
    return has(at) ? boolean(at) : otherwise;
  }
  std::string string_or(const std::string& at, const std::string& otherwise) const {
    return has(at) ? string(at) : otherwise;
  }
  uint64_t size(const std::string& at) const {
    const std::optional<JsonValue> value = find(at);
    return value ? value->size() : 0;
  }
  std::vector<std::string> keys(const std::string& at) const {
    std::vector<std::string> found;
    if (const std::optional<JsonValue> value = find(at)) {
      value->each_member([&](std::string_view key, const JsonValue&) { found.emplace_back(key); });
    }
    return found;
  }

 private:
  static std::optional<JsonValue> step(const JsonValue& value, std::string_view key) {
    if (!value.is_array()) {
      return value.member(key);
    }
    uint64_t index = 0;
    const char* end = key.data() + key.size();
    const bool is_index =
        std::from_chars(key.data(), end, index) == std::from_chars_result{end, {}};
    return is_index ? value.element(index) : std::nullopt;
  }
  template <typename T>
  T read(const std::string& at, std::optional<T> (JsonValue::*get)() const,
         const char* wanted) const {
    const std::optional<JsonValue> value = find(at);
    if (!value) {
      throw Error(QUENCH_NOT_FOUND, at + ": missing");
    }
    if (const std::optional<T> found = ((*value).*get)()) {
      return *found;
    }
    constexpr const char* kNames[] = {"nothing",  "null", "a boolean", "an integer",
                                      "a number", "text", "a list",    "an object"};
    throw Error(QUENCH_INVALID_ARGUMENT,
                at + ": wanted " + wanted + ", got " + kNames[value->type()]);
  }

  JsonDocument document_;
};

}  // namespace quench::kit
