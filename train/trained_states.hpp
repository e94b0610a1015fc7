// What trainings leave on disk, by its key: under QUENCH_HOME/training a folder that other programs
// open as a checkpoint, and beside it, in folders of their own, what an optimizer needs to go on
// and the sums of averages that are open. Each lists its files with their hashes
// (sealed_folder.hpp), and the note has a checksum of its own, because it changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/store/sealed_folder.hpp"
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
  // The sums of the first `members` members of an average.
  std::filesystem::path sums_path(const std::string& average, size_t members) const {
    return folder_ / (average + ".sums") / std::to_string(members);
  }
  // Whether all files are there with their sizes; their contents are not read.
  bool has_weights(const std::string& key) const;
  // Weights and all that is needed to go on from them.
  bool has_state(const std::string& key) const;
  bool has_sums(const std::string& average, size_t members) const;

  // What is wrong with a folder of this home (by one of the paths above): one line, or "" where it
  // is whole or nothing is there. Throws Error: CANCELLED on request, and FAILED_PRECONDITION where
  // a file that is there cannot be opened, which says nothing of what is in it.
  std::string fault(const std::filesystem::path& folder, Depth depth) const;
  // Removes the folder if it has a fault, which is returned; one that another process put there
  // meanwhile stays. What was damaged is then missing, and made again.
  std::string remove_damaged(const std::filesystem::path& folder, Depth depth);

  // Nothing happens where the weights are there already; a folder is there completely or not at
  // all. Throws Error(RESOURCE_EXHAUSTED) naming the path when the disk is full; what was there
  // stays, unless it lacks a file.
  void save_weights(const std::string& key, const CheckpointFiles& files,
                    const std::vector<FlatParameter>& parameters, std::span<const float> weights);
  // Likewise; written before the weights of the same key. `tensors`: names and views in host
  // memory.
  void save_optimizer(const std::string& key,
                      const std::vector<std::pair<std::string, quench_tensor>>& tensors);
  // Fills the views with what save_optimizer wrote. Throws Error when names or shapes differ; what
  // the bytes are is for fault().
  void load_optimizer(const std::string& key,
                      const std::vector<std::pair<std::string, quench_tensor>>& tensors) const;
  // Likewise; `sizes`: how many sums each chunk has, `sums`: those of one.
  void save_sums(const std::string& average, size_t members, const std::vector<uint64_t>& sizes,
                 const std::function<std::vector<double>(size_t chunk)>& sums);
  // The chunks as they were saved, one after the other.
  void load_sums(const std::string& average, size_t members,
                 const std::function<void(size_t chunk, std::span<const double>)>& take) const;
  // Throws Error(DATA_LOSS) when it does not verify.
  nlohmann::json note(const std::string& key) const;
  // The note anew, for a folder that is there.
  void save_note(const std::string& key, const nlohmann::json& note);

  // Nothing happens where nothing is.
  void drop_optimizer(const std::string& key);
  void drop_weights(const std::string& key);
  // All of an average, but for those of so many members.
  void drop_sums(const std::string& average, const std::set<size_t>& kept = {});

 private:
  bool is_whole(const std::filesystem::path& folder) const;
  template <typename Write>
  void publish(const std::filesystem::path& path, Write write);

  std::filesystem::path folder_;
};

}  // namespace quench
