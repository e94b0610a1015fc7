// null for what is not there.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace quench {

template <typename Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}
inline nlohmann::json or_null(std::string_view text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

}  // namespace quench
