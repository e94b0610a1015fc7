// A value of a tokenizer.json together with its place, so that every complaint names both.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace quench::text {

// Token ids must be below this: one forged id must not cost gigabytes.
inline constexpr int64_t kIdLimit = int64_t{1} << 24;

// Borrows the JSON value. Errors are "FILE: PLACE: what is wrong".
class Entry {
 public:
  Entry(const nlohmann::json& value, std::string file, std::string place = "");

  const nlohmann::json& value() const { return *value_; }
  const std::string& file() const { return file_; }
  // "FILE: PLACE".
  std::string location() const;

  // A member that must be there; one that may be missing or null.
  Entry member(std::string_view key) const;
  std::optional<Entry> optional_member(std::string_view key) const;
  // The elements of an array.
  std::vector<Entry> elements() const;

  std::string string() const;
  bool boolean() const;
  // 0 <= id < kIdLimit.
  int32_t id() const;
  // The member "type".
  std::string type() const;

  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    throw_at(QUENCH_INVALID_ARGUMENT, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    throw_at(QUENCH_UNSUPPORTED, fmt::format(format, std::forward<Args>(args)...));
  }
  // For a "type" that no component answers to; `supported` is a comma-separated list.
  [[noreturn]] void unknown_type(std::string_view type, std::string_view supported) const;

 private:
  [[noreturn]] void throw_at(quench_status code, const std::string& message) const;

  const nlohmann::json* value_;
  std::string file_;
  std::string place_;
};

// How a JSON value looks in a message: "number 7", "string \"abc\"", "array".
std::string describe(const nlohmann::json& value);

}  // namespace quench::text
