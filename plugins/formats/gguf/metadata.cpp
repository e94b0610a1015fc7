#include "formats/gguf/metadata.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "quench/kit/error.hpp"

namespace quench::gguf {

namespace {

constexpr uint64_t kMaxPairs = 65536;
constexpr uint64_t kMaxKeyBytes = 65535;     // of the specification
constexpr uint64_t kKeptStringBytes = 4096;  // a chat template is longer, an architecture is not
constexpr uint64_t kKeptElements = 4096;     // one number a block
constexpr uint64_t kSmallestPair = 8 + 4 + 1;

enum Type : uint32_t {
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUInt64,
  kInt64,
  kFloat64,
};

struct TypeInfo {
  const char* name;
  uint64_t bytes;  // 0: of no fixed size
};

// By number.
constexpr std::array<TypeInfo, 13> kMetadataTypes = {{{"uint8", 1},
                                                      {"int8", 1},
                                                      {"uint16", 2},
                                                      {"int16", 2},
                                                      {"uint32", 4},
                                                      {"int32", 4},
                                                      {"float32", 4},
                                                      {"bool", 1},
                                                      {"string", 0},
                                                      {"array", 0},
                                                      {"uint64", 8},
                                                      {"int64", 8},
                                                      {"float64", 8}}};

uint32_t read_type(Cursor& cursor, const std::string& key) {
  const auto type = cursor.number<uint32_t>("type of a value");
  if (type >= kMetadataTypes.size()) {
    cursor.fail(shown(key) + ": type " + std::to_string(type) + ", wanted 0.." +
                std::to_string(kMetadataTypes.size() - 1));
  }
  return type;
}

decltype(Value::content) read_scalar(Cursor& cursor, uint32_t type) {
  constexpr const char* kWhat = "value";
  switch (type) {
    case kUInt8:
      return uint64_t{cursor.number<uint8_t>(kWhat)};
    case kInt8:
      return int64_t{cursor.number<int8_t>(kWhat)};
    case kUInt16:
      return uint64_t{cursor.number<uint16_t>(kWhat)};
    case kInt16:
      return int64_t{cursor.number<int16_t>(kWhat)};
    case kUInt32:
      return uint64_t{cursor.number<uint32_t>(kWhat)};
    case kInt32:
      return int64_t{cursor.number<int32_t>(kWhat)};
    case kUInt64:
      return cursor.number<uint64_t>(kWhat);
    case kInt64:
      return cursor.number<int64_t>(kWhat);
    case kFloat32:
      return shortest_decimal(cursor.number<float>(kWhat));
    case kFloat64:
      return cursor.number<double>(kWhat);
    default: {
      const auto flag = cursor.number<uint8_t>(kWhat);
      if (flag > 1) {
        cursor.fail("a bool of " + std::to_string(flag) + ", wanted 0 or 1");
      }
      return flag == 1;
    }
  }
}

double as_double(const decltype(Value::content)& content) {
  if (const auto* natural = std::get_if<uint64_t>(&content)) {
    return static_cast<double>(*natural);
  }
  if (const auto* integer = std::get_if<int64_t>(&content)) {
    return static_cast<double>(*integer);
  }
  if (const auto* flag = std::get_if<bool>(&content)) {
    return *flag ? 1.0 : 0.0;
  }
  return std::get<double>(content);
}

decltype(Value::content) read_string(Cursor& cursor) {
  const auto length = cursor.number<uint64_t>("length of a string");
  if (length > kKeptStringBytes) {
    cursor.skip(length, "string");
    return {};
  }
  return cursor.text(length, "string");
}

Value read_array(Cursor& cursor, const std::string& key) {
  const uint32_t type = read_type(cursor, key);
  if (type == kArray) {
    cursor.fail(shown(key) + ": an array of arrays, wanted an array of values");
  }
  const auto count = cursor.number<uint64_t>("length of an array");
  const uint64_t bytes = kMetadataTypes.at(type).bytes;
  Value value;
  value.type = "array of " + std::to_string(count) + " " + kMetadataTypes.at(type).name;
  if (count > cursor.remaining() / (bytes == 0 ? sizeof(uint64_t) : bytes)) {
    cursor.fail(shown(key) + ": " + value.type + ", the file has " +
                std::to_string(cursor.remaining()) + " more bytes");
  }
  if (type == kString) {
    for (uint64_t i = 0; i < count; ++i) {
      cursor.skip(cursor.number<uint64_t>("length of a string"), "string");
    }
  } else if (count > kKeptElements) {
    cursor.skip(count * bytes, "array");
  } else {
    std::vector<double> numbers(count);
    for (double& number : numbers) {
      number = as_double(read_scalar(cursor, type));
    }
    value.content = std::move(numbers);
    value.of_integers = type != kFloat32 && type != kFloat64 && type != kBool;
  }
  return value;
}

Value read_value(Cursor& cursor, const std::string& key) {
  const uint64_t offset = cursor.offset();
  const uint32_t type = read_type(cursor, key);
  Value value;
  if (type == kArray) {
    value = read_array(cursor, key);
  } else {
    value.type = kMetadataTypes.at(type).name;
    value.content = type == kString ? read_string(cursor) : read_scalar(cursor, type);
  }
  value.offset = offset;
  return value;
}

}  // namespace

double shortest_decimal(float value) {
  if (!std::isfinite(value)) {
    return value;
  }
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double decimal = 0.0;
  std::from_chars(text.data(), written.ptr, decimal);
  return decimal;
}

Metadata Metadata::read(const Bytes& bytes, Cursor& cursor, uint64_t pairs) {
  const uint64_t most = std::min(kMaxPairs, cursor.remaining() / kSmallestPair);
  if (pairs > most) {
    cursor.fail(std::to_string(pairs) + " pairs of metadata, wanted at most " +
                std::to_string(most) + (most == kMaxPairs ? "" : ", for which the file has bytes"));
  }
  Metadata metadata;
  metadata.bytes_ = &bytes;
  for (uint64_t i = 0; i < pairs; ++i) {
    const uint64_t offset = cursor.offset();
    const auto length = cursor.number<uint64_t>("length of a key");
    if (length == 0 || length > kMaxKeyBytes) {
      cursor.fail("a key of " + std::to_string(length) + " bytes, wanted 1.." +
                  std::to_string(kMaxKeyBytes));
    }
    std::string key = cursor.text(length, "key");
    Value value = read_value(cursor, key);
    if (!metadata.values_.emplace(key, std::move(value)).second) {
      fail_at(bytes, offset, "key " + shown(key) + " is there twice");
    }
  }
  return metadata;
}

std::vector<std::string> Metadata::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values_) {
    keys.push_back(key);
  }
  return keys;
}

const Value* Metadata::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Metadata::refuse(int32_t code, const std::string& key, const std::string& message) const {
  throw kit::Error(code, bytes_->name() + ": " + shown(key) + ": " + message);
}

void Metadata::wrong_kind(const std::string& key, const char* wanted) const {
  const Value& value = values_.at(key);
  fail_at(*bytes_, value.offset, shown(key) + ": got " + value.type + ", wanted " + wanted);
}

std::optional<uint64_t> Metadata::count(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const auto* natural = std::get_if<uint64_t>(&value->content)) {
    return *natural;
  }
  // Some writers give one number for each block. Integers up to 2^53 came through unchanged.
  if (const auto* numbers = std::get_if<std::vector<double>>(&value->content);
      numbers != nullptr && !numbers->empty() && value->of_integers) {
    const auto [least, most] = std::minmax_element(numbers->begin(), numbers->end());
    if (*least != *most) {
      fail_at(*bytes_, value->offset,
              shown(key) + ": from " + std::to_string(static_cast<int64_t>(*least)) + " to " +
                  std::to_string(static_cast<int64_t>(*most)) +
                  ", wanted one number for all blocks");
    }
    if (*least >= 0 && *least <= 0x1p53) {
      return static_cast<uint64_t>(*least);
    }
  }
  const auto* integer = std::get_if<int64_t>(&value->content);
  if (integer == nullptr || *integer < 0) {
    wrong_kind(key, "an integer of at least 0");
  }
  return static_cast<uint64_t>(*integer);
}

std::optional<double> Metadata::number(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto* number = std::get_if<double>(&value->content);
  if (number == nullptr || !std::isfinite(*number)) {
    wrong_kind(key, "a finite floating-point number");
  }
  return *number;
}

std::optional<bool> Metadata::boolean(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto* flag = std::get_if<bool>(&value->content);
  if (flag == nullptr) {
    wrong_kind(key, "a bool");
  }
  return *flag;
}

std::optional<std::string> Metadata::text(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto* text = std::get_if<std::string>(&value->content);
  if (text == nullptr) {
    wrong_kind(key, "a string of at most 4096 bytes");
  }
  return *text;
}

std::optional<std::vector<double>> Metadata::numbers(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto* numbers = std::get_if<std::vector<double>>(&value->content);
  if (numbers == nullptr) {
    wrong_kind(key, "an array of at most 4096 numbers");
  }
  return *numbers;
}

}  // namespace quench::gguf
