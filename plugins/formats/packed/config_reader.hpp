// The members of a quantization_config, checked as they are read.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "quench/kit/format.hpp"

namespace quench::formats {

// One JSON object with the place of its messages. Throws kit::Error(INVALID_ARGUMENT) for values of
// another type than asked for. Borrows the object.
class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& object, std::string where);

  const std::string& where() const { return where_; }
  // Null where the key is absent or null.
  const nlohmann::json* find(const char* key) const;
  std::string text(const char* key, const std::string& otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  int64_t integer(const char* key, std::optional<int64_t> otherwise = std::nullopt) const;
  bool empty(const char* key) const;
  // -1 or 1 to kMaxPackedSide.
  int64_t group_size(const char* key = "group_size",
                     std::optional<int64_t> otherwise = std::nullopt) const;
  // meta.quantizer: "gptqmodel:4.2.5", or the first of a list of such; "" where there is none.
  std::string writer() const;
  // UNSUPPORTED where codes are not in words of 32 bits.
  void check_words() const;

 private:
  const nlohmann::json& object_;
  std::string where_;
};

// What a place says of how its weights are quantized.
struct FoundConfig {
  nlohmann::json object;
  std::string where;   // of it, for messages
  std::string method;  // quant_method; files of the first tools have none: their key is `bits`
};

// The quantization_config of config.json, or the object of quantize_config.json, where older
// writers keep it. Nothing where there is none. Throws kit::Error for what is no JSON.
std::optional<FoundConfig> find_quantization(const kit::Place& place);

}  // namespace quench::formats
