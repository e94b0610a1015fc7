// A format of a plugin. Every call throws quench::Error whose message starts with "format <id>: ",
// but for `fault`.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/checkpoint/checkpoint_place.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "quench/abi/kind/format.h"

namespace quench {

// What a format says of a place.
struct FormatAnswer {
  int32_t score = 0;    // 0..100
  std::string message;  // why not, where it has a reason
};

// What an open checkpoint offers, checked.
struct FormatContents {
  std::shared_ptr<const TensorSource> source;  // keeps the checkpoint and its place open
  std::optional<std::string> config_json;      // nothing: the place's
  nlohmann::json quantization;                 // an object, or null for float weights
  std::optional<CarriedFile> tokenizer;
};

struct PlacedCheckpoint {
  std::string name;  // of a file of the place
  int64_t step = -1;
  int64_t tokens = -1;
};

class FormatHandle {
 public:
  // Loads the plugin; its parameters have their defaults.
  FormatHandle(Catalog& catalog, const PluginDescription& description);

  const std::string& id() const { return id_; }
  const std::string& label() const { return label_; }  // "format <id>"
  bool reads() const { return table_->probe != nullptr; }
  bool writes() const { return table_->begin != nullptr; }
  const quench_format_table& table() const { return *table_; }
  const std::string& parameters() const { return parameters_; }  // JSON text

  FormatAnswer probe(const CheckpointPlace& place) const;
  FormatContents open(std::shared_ptr<const CheckpointPlace> place) const;
  // By step; empty for a place that is one checkpoint or none.
  std::vector<PlacedCheckpoint> list(const CheckpointPlace& place) const;
  // Why it cannot hold weights of this scheme and, unless `out` is 0, of this shape, or "".
  std::string fault(const quench_code_scheme& scheme, int64_t out = 0, int64_t in = 0) const;

 private:
  std::string id_;
  std::string label_;
  const quench_format_table* table_;
  std::string parameters_;
};

// Copies name, type and shape; `shared_with` is 0. `where` begins every message. Throws Error(code)
// for a name that is missing, empty or too long, a type that checkpoints do not hold, and a shape
// that is negative, too large or of too many dimensions.
TensorInfo offered_tensor(const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape, int32_t code, const std::string& where);

}  // namespace quench
