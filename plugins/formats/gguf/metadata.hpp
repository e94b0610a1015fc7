// The keys and values at the beginning of a GGUF file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "formats/gguf/cursor.hpp"

namespace quench::gguf {

// A value, and how the file wrote it. Numbers of all widths are one of the three here; a float32 is
// the shortest decimal number that rounds to it, because writers round what a config.json says:
// 1e-6, and not 9.99999997e-07. What nothing here reads is not kept: arrays of strings (a
// vocabulary), longer arrays and longer strings have no content.
struct Value {
  std::string type;  // "uint32", "array of 3 float32": for messages
  uint64_t offset = 0;
  std::variant<std::monostate, bool, uint64_t, int64_t, double, std::string, std::vector<double>>
      content;
  bool of_integers = false;  // an array of them
};

class Metadata {
 public:
  // The pairs that begin at the cursor. Throws kit::Error(DATA_LOSS): a key given twice, a type
  // that GGUF does not have, arrays in arrays, numbers of pairs and lengths that the file has no
  // bytes for.
  static Metadata read(const Bytes& bytes, Cursor& cursor, uint64_t pairs);

  bool has(const std::string& key) const { return values_.count(key) != 0; }
  std::vector<std::string> keys() const;

  // The value of a key, or nothing where it is missing. Throws kit::Error(DATA_LOSS) with file,
  // offset and key when the value is of another kind.
  // An integer, not negative, or an array of equal ones.
  std::optional<uint64_t> count(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;  // finite
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<std::vector<double>> numbers(const std::string& key) const;

  // Throws kit::Error(`code`): "FILE: KEY: MESSAGE".
  [[noreturn]] void refuse(int32_t code, const std::string& key, const std::string& message) const;

 private:
  const Value* find(const std::string& key) const;
  [[noreturn]] void wrong_kind(const std::string& key, const char* wanted) const;

  const Bytes* bytes_ = nullptr;
  std::map<std::string, Value> values_;
};

// The shortest decimal number that rounds to `value` as float32.
double shortest_decimal(float value);

}  // namespace quench::gguf
