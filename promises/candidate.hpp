// The plugin that is tried, where it runs and what is known of it there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quench/abi/module.h"

namespace quench::promises {

struct Parameter {
  std::string name;
  int32_t type;                          // QUENCH_PARAMETER_*
  std::optional<nlohmann::json> preset;  // its default; nothing: it is required
};

struct SmallTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;
};

struct SmallModel {
  std::string config;
  std::vector<SmallTensor> tensors = {};
  // Each number of the config changes the model, so that no wrong one may be ignored.
  bool each_number_counts = false;
};

struct ProcessSize {
  uint64_t bytes;
  uint64_t threads;
};

class Candidate {
 public:
  virtual ~Candidate() = default;

  // Its live item; another one after set_threads() and start_afresh().
  virtual const quench_item& item() = 0;
  virtual const std::vector<Parameter>& parameters() const = 0;

  // What the host lets it use from here on.
  virtual void set_threads(uint32_t threads) = 0;
  // A process in which it has done nothing yet; false where there can be none.
  virtual bool start_afresh() = 0;
  // Whether the host is asked to stop.
  virtual void request_cancel(bool requested) = 0;

  // Blocks of the host's memory that it holds, where they are counted.
  virtual std::optional<int64_t> live_blocks() { return std::nullopt; }
  // The most bytes of the host's memory that it held during `work`, beside those before.
  virtual std::optional<int64_t> peak_during(const std::function<void()>&) { return std::nullopt; }
  // Of its process, where it has one of its own.
  virtual std::optional<ProcessSize> process_size() { return std::nullopt; }
  // The first line that it printed so far, where that can be seen; "": none.
  virtual std::optional<std::string> printed() { return std::nullopt; }

  // A folder with a checkpoint, or a file, that plugins of some kinds are tried on; "": none.
  virtual std::filesystem::path sample() const { return {}; }
  // Values of parameters, in place of the defaults.
  virtual nlohmann::json settings() const { return nlohmann::json::object(); }
  // What a family is tried on, in place of the sample's config and safetensors.
  virtual std::optional<SmallModel> model() const { return std::nullopt; }
};

// The candidate's parameter of this name, or nullptr.
const Parameter* find_parameter(const Candidate& candidate, std::string_view name);
// What an instance is made with: `given` over the defaults, as text. Throws Skipped where a
// required parameter has no value.
std::string complete(const Candidate& candidate, const nlohmann::json& given);
// What a family is tried on. Throws Skipped where there is nothing.
SmallModel small_model(const Candidate& candidate);

// The table of its item, as `quench_<kind>_table`.
template <typename Table>
const Table& table_of(Candidate& candidate) {
  return *static_cast<const Table*>(candidate.item().table);
}

}  // namespace quench::promises
