// A folder of linears in the making, without a model.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors_writer.hpp"
#include "core/plugin/handles/format_writer.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

class Written {
 public:
  explicit Written(const std::string& format)
      : writer_(FormatHandle(built_catalog(), built_catalog().require("format", format))) {}

  // The weight that the file holds, of a quench_coded_linear or a quench_codebook_linear.
  template <typename Linear>
  std::vector<float> store(const Linear& linear, size_t elements) {
    std::vector<float> weight(elements);
    writer_.store(linear, weight);
    return weight;
  }
  nlohmann::json scales() const { return writer_.scales(); }
  const std::map<std::string, StoredTensor>& tensors() const { return writer_.tensors(); }
  FormatFinish finish() { return writer_.finish({}, {"lm_head"}); }
  // As it would be written; what `finish` said of the scheme.
  nlohmann::json write(const TemporaryDir& folder) {
    const FormatFinish rest = finish();
    SafetensorsWriter file(folder / "model.safetensors");
    for (const auto& [name, tensor] : writer_.tensors()) {
      file.declare({name, tensor.dtype, tensor.shape, 0});
    }
    for (const auto& [name, tensor] : writer_.tensors()) {
      file.write(tensor.bytes.data(), tensor.bytes.size());
    }
    file.finish();
    folder.write("config.json", rest.config.dump());
    return rest.quantization;
  }

 private:
  FormatWriter writer_;
};

}  // namespace quench::test
