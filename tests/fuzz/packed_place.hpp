// A place of a config.json and one safetensors file, and the formats that read packed weights.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "quench/abi/kind/format.h"
#include "quench/abi/module.h"
#include "tests/support/test_host.hpp"

extern "C" {
const quench_module* quench_module_awq() noexcept;
const quench_module* quench_module_bnb_int8() noexcept;
const quench_module* quench_module_compressed_tensors() noexcept;
const quench_module* quench_module_gptq() noexcept;
const quench_module* quench_module_gptq_v2() noexcept;
}

namespace quench::fuzz {

inline std::vector<const quench_item*> packed_formats() {
  std::vector<const quench_item*> out;
  for (const quench_module* module :
       {quench_module_awq(), quench_module_bnb_int8(), quench_module_compressed_tensors(),
        quench_module_gptq(), quench_module_gptq_v2()}) {
    out.insert(out.end(), module->items, module->items + module->item_count);
  }
  return out;
}

class PackedPlace {
 public:
  PackedPlace(std::string config, const std::filesystem::path& tensors)
      : config_(std::move(config)) {
    place_.set_tensors([tensors] { return std::make_shared<SafetensorsSource>(tensors); });
    table_ = *place_.get();
    table_.config_json = config_.c_str();
    table_.config_bytes = config_.size();
  }
  PackedPlace(const PackedPlace&) = delete;
  PackedPlace& operator=(const PackedPlace&) = delete;

  const quench_place* get() const { return &table_; }

 private:
  std::string config_;
  CheckpointPlace place_;
  quench_place table_;
};

}  // namespace quench::fuzz
