#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

std::string describe(const kit::JsonValue& value) {
  switch (value.type()) {
    case QUENCH_JSON_NULL:
      return "null";
    case QUENCH_JSON_BOOLEAN:
      return fmt::format("boolean {}", *value.boolean());
    case QUENCH_JSON_INTEGER:
      return fmt::format("number {}", *value.integer());
    case QUENCH_JSON_NUMBER:
      return fmt::format("number {}", *value.number());
    case QUENCH_JSON_STRING:
      return fmt::format("string \"{}\"", printable(*value.string(), 40));
    case QUENCH_JSON_ARRAY:
      return "array";
    default:
      return "object";
  }
}

std::optional<int32_t> id_of(const kit::JsonValue& value) {
  const std::optional<int64_t> id =
      value.type() == QUENCH_JSON_INTEGER ? value.integer() : std::nullopt;
  return id && *id >= 0 && *id < kIdLimit ? std::optional(static_cast<int32_t>(*id)) : std::nullopt;
}

Entry::Entry(kit::JsonValue value, std::string file, std::string place)
    : value_(value), file_(std::move(file)), place_(std::move(place)) {}

std::string Entry::location() const {
  return place_.empty() ? file_ : fmt::format("{}: {}", file_, place_);
}

void Entry::throw_at(quench_status code, const std::string& message) const {
  throw Error(code, fmt::format("{}: {}", location(), message));
}

Entry Entry::member(std::string_view key) const {
  if (!value_.is_object()) {
    reject("wanted an object, got {}", describe(value_));
  }
  const auto found = value_.member(key);
  if (!found) {
    reject("no \"{}\"", key);
  }
  return {*found, file_, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key)};
}

std::optional<Entry> Entry::optional_member(std::string_view key) const {
  if (!value_.is_object()) {
    reject("wanted an object, got {}", describe(value_));
  }
  const auto found = value_.member(key);
  if (!found || found->type() == QUENCH_JSON_NULL) {
    return std::nullopt;
  }
  return member(key);
}

std::vector<Entry> Entry::elements() const {
  if (!value_.is_array()) {
    reject("wanted an array, got {}", describe(value_));
  }
  std::vector<Entry> all;
  all.reserve(value_.size());
  for (uint64_t i = 0; i < value_.size(); ++i) {
    all.emplace_back(*value_.element(i), file_, fmt::format("{}[{}]", place_, i));
  }
  return all;
}

std::string Entry::string() const {
  const auto text = value_.string();
  if (!text) {
    reject("wanted a string, got {}", describe(value_));
  }
  return std::string(*text);
}

bool Entry::boolean() const {
  const auto value = value_.boolean();
  if (!value) {
    reject("wanted true or false, got {}", describe(value_));
  }
  return *value;
}

int32_t Entry::id() const {
  const auto id = id_of(value_);
  if (!id) {
    reject("wanted an id from 0 to {}, got {}", kIdLimit - 1, describe(value_));
  }
  return *id;
}

std::string Entry::type() const {
  return member("type").string();
}

void Entry::unknown_type(std::string_view type, std::string_view supported) const {
  unsupported("type \"{}\" is not supported; supported: {}", printable(type), supported);
}

}  // namespace quench::tokenizers
