// A value of a tokenizer.json together with its place, so that every complaint names both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/json.hpp"
#include "tokenizers/shared/message.hpp"

namespace quench::tokenizers {

// Token ids must be below this: one forged id must not cost gigabytes.
inline constexpr int64_t kIdLimit = int64_t{1} << 24;

// Borrows the document. Errors are "FILE: PLACE: what is wrong".
class Entry {
 public:
  Entry(kit::JsonValue value, std::string file, std::string place = "");

  const kit::JsonValue& value() const { return value_; }
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

  kit::JsonValue value_;
  std::string file_;
  std::string place_;
};

// How a JSON value looks in a message: "number 7", "string \"abc\"", "array".
std::string describe(const kit::JsonValue& value);

// The value as a token id, 0 <= id < kIdLimit.
std::optional<int32_t> id_of(const kit::JsonValue& value);

}  // namespace quench::tokenizers
