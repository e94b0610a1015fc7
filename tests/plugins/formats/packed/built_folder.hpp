// Small packed checkpoints, good and bad, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

struct BuiltTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};
using BuiltTensors = std::map<std::string, BuiltTensor>;

inline std::string packed_file(const BuiltTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return safetensors(header.dump(), data);
}

// A folder with these tensors and this quantization_config.
class BuiltFolder {
 public:
  BuiltFolder(const BuiltTensors& tensors, const nlohmann::json& quantization) {
    folder_.write("model.safetensors", packed_file(tensors));
    folder_.write("config.json", nlohmann::json{{"quantization_config", quantization}}.dump());
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryDir folder_;
};

inline BuiltTensor words(std::vector<int64_t> shape, const std::vector<uint32_t>& values) {
  return {"I32", std::move(shape), bytes_of(values)};
}
inline BuiltTensor halves(std::vector<int64_t> shape, const std::vector<uint16_t>& bits) {
  return {"F16", std::move(shape), bytes_of(bits)};
}
inline constexpr uint16_t kHalfOne = 0x3C00;

// One linear `m` of 4 bits, [8, 8]: every code is 9, every zero 8, every scale 1.
inline BuiltTensors gptq_tensors() {
  return {{"m.qweight", words({1, 8}, std::vector<uint32_t>(8, 0x99999999U))},
          {"m.qzeros", words({1, 1}, {0x77777777U})},
          {"m.scales", halves({1, 8}, std::vector<uint16_t>(8, kHalfOne))},
          {"m.g_idx", words({8}, std::vector<uint32_t>(8, 0))},
          {"m.bias", halves({8}, std::vector<uint16_t>(8, 0))}};
}
inline nlohmann::json gptq_config() {
  return {{"quant_method", "gptq"}, {"bits", 4},   {"group_size", 128},
          {"desc_act", false},      {"sym", true}, {"checkpoint_format", "gptq"}};
}

}  // namespace quench::test
