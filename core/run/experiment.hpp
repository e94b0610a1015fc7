// What is to be run, with every name looked up and every parameter complete: the grid of
// checkpoints × quantizers × metrics. Both `quench run` and `quench eval` come down to one of
// these.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/catalog.hpp"
#include "quench/abi/tensor.h"

namespace quench {

// A corpus, by plugin and complete parameters.
struct CorpusUse {
  std::string name;  // in the manifest, or the file of an anonymous one
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
};

enum class Packing { kNone, kConcat };

struct Calibration {
  std::string name;
  CorpusUse corpus;
  uint64_t documents = 0;  // 0: all
  uint64_t sequences = 0;  // with kConcat
  uint64_t length = 0;  // ids per sequence with kConcat; the longest row with kNone, 0: the model's
  Packing packing = Packing::kNone;
};

struct QuantizerCell {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  std::string label;
  std::optional<Calibration> calibration;
  std::string where;  // "file:line:column" in a manifest, else empty; for messages
};

struct MetricCell {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  std::string label;
  std::vector<std::pair<std::string, CorpusUse>> corpora;  // parameter name, corpus
  std::string where;                                       // as in QuantizerCell
};

struct CheckpointCell {
  std::string model;     // as the user wrote it: folder or hf://org/name
  std::string revision;  // empty where there is none
  std::string location;  // folder, file, or hf://org/name@revision: what is opened
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
};

struct Experiment {
  std::string name;
  uint64_t seed = 0;
  quench_dtype dtype{};
  quench_device device{};
  std::string tokenizer;  // path, "bytes", or empty: the checkpoint's own
  std::vector<CheckpointCell> checkpoints;
  std::vector<QuantizerCell> quantizers;
  std::vector<MetricCell> metrics;
};

// "float32" (or fp32, ...) and "cpu", "cuda:0". Throw Error(INVALID_ARGUMENT).
quench_dtype parse_dtype(const std::string& text);
quench_device parse_device(const std::string& text);
std::string dtype_text(quench_dtype dtype);
std::string device_text(quench_device device);

}  // namespace quench
