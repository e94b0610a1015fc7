// What trainings store on disk, by key. QUENCH_HOME/training/ has a folder that other programs open
// as a checkpoint, and beside it separate folders with the optimizer's state and the sums of
// unfinished averages. Each folder lists its files with their hashes (sealed_folder.hpp); the note
// has its own checksum because it changes.
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

#include "core/checkpoint/tensor_source.hpp"
#include "core/store/sealed_folder.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

// One parameter of the model's flat vector.
struct FlatParameter {
  std::string name;
  int32_t role = 0;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // in elements
  uint64_t elements = 0;
};

// Files written beside the weights.
struct CheckpointFiles {
  std::string config;              // text of config.json
  std::string tokenizer;           // path of a tokenizer, "bytes", or empty
  nlohmann::json note;             // training.json
  std::string tokenizer_key = {};  // TokenizerIdentity::key; begins with the SHA-256 of the file
};

// Holds the rows of the training log since the last kept state, and that state's key.
inline constexpr const char* kNoteFile = "training.json";

class TrainedStates {
 public:
  explicit TrainedStates(const std::filesystem::path& home) : folder_(home / "training") {}

  std::filesystem::path weights_path(const std::string& key) const { return folder_ / key; }
  std::filesystem::path optimizer_path(const std::string& key) const {
    return folder_ / (key + ".optimizer");
  }
  // The sums over the first `members` members of an average.
  std::filesystem::path sums_path(const std::string& average, size_t members) const {
    return folder_ / (average + ".sums") / std::to_string(members);
  }
  // Whether all files exist with their sizes; does not read their contents.
  bool has_weights(const std::string& key) const;
  // Whether the weights and the optimizer's state exist, so that training can continue.
  bool has_state(const std::string& key) const;
  bool has_sums(const std::string& average, size_t members) const;

  // What is wrong with a folder of this home (by one of the paths above): one line, or "" if it is
  // intact or missing. Throws Error: CANCELLED on request, and FAILED_PRECONDITION if an existing
  // file cannot be opened, which proves nothing about its content.
  std::string fault(const std::filesystem::path& folder, Depth depth) const;
  // Removes the folder if it is damaged and returns the fault; keeps a folder that another process
  // put there meanwhile. What was damaged is then missing, and made again.
  std::string remove_damaged(const std::filesystem::path& folder, Depth depth);

  // Does nothing if the weights exist; the folder appears completely or not at all. Throws
  // Error(RESOURCE_EXHAUSTED) naming the path if the disk is full, UNAVAILABLE if the tokenizer is
  // not that of its key any more; an existing folder stays, unless it lacks a file.
  void save_weights(const std::string& key, const CheckpointFiles& files,
                    const std::vector<FlatParameter>& parameters, std::span<const float> weights);
  // Likewise; call it before save_weights of the same key. `values` fills `bytes` with those of a
  // tensor, in turn.
  void save_optimizer(const std::string& key, const std::vector<TensorInfo>& tensors,
                      const std::function<void(size_t tensor, void* bytes)>& values);
  // Hands back what save_optimizer wrote, in the order of `tensors`. Throws Error if names or
  // shapes differ; fault() checks the bytes.
  void load_optimizer(const std::string& key, const std::vector<TensorInfo>& tensors,
                      const std::function<void(size_t tensor, const void* bytes)>& take) const;
  // Likewise; `sizes`: how many sums each chunk has, `sums`: returns those of one chunk.
  void save_sums(const std::string& average, size_t members, const std::vector<uint64_t>& sizes,
                 const std::function<std::vector<double>(size_t chunk)>& sums);
  // Loads the chunks in the order in which they were saved.
  void load_sums(const std::string& average, size_t members,
                 const std::function<void(size_t chunk, std::span<const double>)>& take) const;
  // Throws Error(DATA_LOSS) if it does not verify.
  nlohmann::json note(const std::string& key) const;
  // Replaces the note of an existing folder.
  void save_note(const std::string& key, const nlohmann::json& note);

  // Does nothing if there is nothing.
  void drop_optimizer(const std::string& key);
  void drop_weights(const std::string& key);
  // Drops all sums of an average except those over the member counts in `kept`.
  void drop_sums(const std::string& average, const std::set<size_t>& kept = {});

 private:
  bool is_whole(const std::filesystem::path& folder) const;
  template <typename Write>
  void publish(const std::filesystem::path& path, Write write);

  std::filesystem::path folder_;
};

}  // namespace quench
