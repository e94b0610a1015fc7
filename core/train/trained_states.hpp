// What trainings leave on disk, by its key: under QUENCH_HOME/training a folder that other programs
// open as a checkpoint, and beside it, in a folder of its own, what an optimizer needs to go on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quench/abi/kind/model.h"

namespace quench {

// One parameter of the flat vector of a model.
struct FlatParameter {
  std::string name;
  int32_t role = 0;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // in elements
  uint64_t elements = 0;
};

// What is written beside the weights.
struct CheckpointFiles {
  std::string config;     // text of config.json
  std::string tokenizer;  // path of a tokenizer, "bytes", or empty
  nlohmann::json note;    // training.json
};

// The rows of a training's log since the last state that is kept, and where that one is.
inline constexpr const char* kNoteFile = "training.json";

class TrainedStates {
 public:
  explicit TrainedStates(const std::filesystem::path& home) : folder_(home / "training") {}

  std::filesystem::path weights_path(const std::string& key) const { return folder_ / key; }
  std::filesystem::path optimizer_path(const std::string& key) const {
    return folder_ / (key + ".optimizer");
  }
  bool has_weights(const std::string& key) const;
  // Weights and all that is needed to go on from them.
  bool has_state(const std::string& key) const;

  // Nothing happens where the weights are there already; a folder is there completely or not at
  // all. Throws Error(RESOURCE_EXHAUSTED) naming the path when the disk is full; what was there
  // stays.
  void save_weights(const std::string& key, const CheckpointFiles& files,
                    const std::vector<FlatParameter>& parameters, std::span<const float> weights);
  // Likewise; written before the weights of the same key. `tensors`: names and views in host
  // memory.
  void save_optimizer(const std::string& key,
                      const std::vector<std::pair<std::string, quench_tensor>>& tensors);
  // Fills the views with what save_optimizer wrote. Throws Error when names or shapes differ.
  void load_optimizer(const std::string& key,
                      const std::vector<std::pair<std::string, quench_tensor>>& tensors) const;
  nlohmann::json note(const std::string& key) const;
  // The note anew, for a folder that is there.
  void save_note(const std::string& key, const nlohmann::json& note);

  // Nothing happens where nothing is.
  void drop_optimizer(const std::string& key);
  void drop_weights(const std::string& key);

 private:
  std::filesystem::path folder_;
};

}  // namespace quench
