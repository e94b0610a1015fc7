#include "core/text/entry.hpp"

namespace quench::text {

std::string describe(const nlohmann::json& value) {
  if (value.is_string()) {
    return fmt::format("string \"{}\"", printable(value.get_ref<const std::string&>(), 40));
  }
  if (value.is_number() || value.is_boolean()) {
    return fmt::format("{} {}", value.type_name(), value.dump());
  }
  return value.type_name();
}

Entry::Entry(const nlohmann::json& value, std::string file, std::string place)
    : value_(&value), file_(std::move(file)), place_(std::move(place)) {}

std::string Entry::location() const {
  return place_.empty() ? file_ : fmt::format("{}: {}", file_, place_);
}

void Entry::throw_at(quench_status code, const std::string& message) const {
  throw Error(code, fmt::format("{}: {}", location(), message));
}

Entry Entry::member(std::string_view key) const {
  if (!value_->is_object()) {
    reject("expected an object, got {}", describe(*value_));
  }
  const auto found = value_->find(key);
  if (found == value_->end()) {
    reject("no \"{}\"", key);
  }
  return {*found, file_, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key)};
}

std::optional<Entry> Entry::optional_member(std::string_view key) const {
  if (!value_->is_object()) {
    reject("expected an object, got {}", describe(*value_));
  }
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) {
    return std::nullopt;
  }
  return member(key);
}

std::vector<Entry> Entry::elements() const {
  if (!value_->is_array()) {
    reject("expected an array, got {}", describe(*value_));
  }
  std::vector<Entry> all;
  all.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    all.emplace_back((*value_)[i], file_, fmt::format("{}[{}]", place_, i));
  }
  return all;
}

std::string Entry::string() const {
  if (!value_->is_string()) {
    reject("expected a string, got {}", describe(*value_));
  }
  return value_->get<std::string>();
}

bool Entry::boolean() const {
  if (!value_->is_boolean()) {
    reject("expected true or false, got {}", describe(*value_));
  }
  return value_->get<bool>();
}

int32_t Entry::id() const {
  if (!value_->is_number_unsigned() || value_->get<uint64_t>() >= uint64_t{kIdLimit}) {
    reject("expected an id from 0 to {}, got {}", kIdLimit - 1, describe(*value_));
  }
  return value_->get<int32_t>();
}

std::string Entry::type() const {
  return member("type").string();
}

void Entry::unknown_type(std::string_view type, std::string_view supported) const {
  unsupported("type \"{}\" is not supported; supported: {}", printable(type), supported);
}

}  // namespace quench::text
