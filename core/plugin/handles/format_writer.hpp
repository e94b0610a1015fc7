// A folder of another tool's format in the making: the tensors of its quantized linears.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/handles/format_handle.hpp"
#include "core/plugin/handles/plugin_object.hpp"

namespace quench {

struct StoredTensor {
  quench_dtype dtype{};
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

// What a folder has beside its tensors.
struct FormatFinish {
  nlohmann::json config;                                        // members of config.json
  nlohmann::json quantization;                                  // for records, or null
  std::vector<std::pair<std::string, std::string>> files = {};  // name, bytes
};

// Of the bits of a weight.
uint64_t checksum_of(std::span<const float> weight);

// Every call throws Error whose message starts with "format <id>: ".
class FormatWriter {
 public:
  explicit FormatWriter(FormatHandle format);

  const std::string& id() const { return format_.id(); }
  bool reads() const { return format_.reads(); }
  // Adds the tensors of one linear. `weight` [out, in] is what its codes stand for, and becomes
  // what reading the tensors gives.
  void store(const quench_coded_linear& linear, std::span<float> weight);
  // The same for a codebook. Throws Error(UNSUPPORTED) for a format that holds none.
  void store(const quench_codebook_linear& linear, std::span<float> weight);
  // Names of the modules that were stored, each with the checksum of the float32 weight that
  // reading it is to give.
  const std::map<std::string, uint64_t>& linears() const { return linears_; }
  // By name; with finish(), without those that it took back.
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  // Once, after the last linear. `linears`: of blocks that stay in float; `heads`: names of the
  // output head, none where it is quantized.
  FormatFinish finish(const std::vector<std::string>& linears,
                      const std::vector<std::string>& heads);
  // What became of scales, for records: {format, scales, rounded_scales, largest_scale_change}.
  nlohmann::json scales() const;

 private:
  struct Sink;
  template <auto Store, typename Linear>
  void store_with(const Linear& linear, std::span<float> weight);
  using Writer = PluginObject<&quench_format_table::end>;

  FormatHandle format_;
  std::optional<Writer> writer_;
  std::map<std::string, uint64_t> linears_;
  std::map<std::string, StoredTensor> tensors_;
  uint64_t scales_ = 0;
  uint64_t rounded_ = 0;
  double largest_change_ = 0;  // relative
};

}  // namespace quench
