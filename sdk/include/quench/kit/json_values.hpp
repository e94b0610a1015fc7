// Large JSON documents, value by value.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

#include "quench/abi/json_values.h"
#include "quench/kit/host.hpp"

namespace quench::kit {

// The service, or FAILED_PRECONDITION from a host that lacks it.
inline const quench_json_values& json_values() {
  const auto* table = service<quench_json_values>(QUENCH_SERVICE_JSON_VALUES);
  if (table == nullptr) {
    throw Error(QUENCH_FAILED_PRECONDITION, "the host has no " QUENCH_SERVICE_JSON_VALUES);
  }
  return *table;
}

// A value of a document, which it borrows. Reading one as another type than it has gives nothing.
class JsonValue {
 public:
  JsonValue(const quench_json_values& table, const quench_json_value* value)
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
      const quench_json_values* table;
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

  const quench_json_values* table_;
  const quench_json_value* value_;
};

// A document that owns its values. `name` stands for it in messages.
class JsonDocument {
 public:
  JsonDocument(std::string_view text, const char* name) : table_(json_values()) {
    quench_json_document* document = nullptr;
    quench_error error{sizeof error, 0, {}};
    check(table_.parse(current_host, name, text.data(), text.size(), &document, &error), error);
    document_ = {document, table_.release};
  }
  JsonValue root() const { return {table_, table_.root(document_.get())}; }

 private:
  const quench_json_values& table_;
  std::unique_ptr<quench_json_document, void (*)(quench_json_document*) noexcept> document_{
      nullptr, nullptr};
};

}  // namespace quench::kit
