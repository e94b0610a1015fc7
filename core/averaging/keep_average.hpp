// An average as a checkpoint on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/averaging/average_source.hpp"
#include "core/checkpoint/checkpoint_folder.hpp"

namespace quench {

// A checkpoint that enters an average, with the files that lie beside its weights.
struct KeptMember {
  CheckpointFolder folder;
  std::string location;  // as the user named it
  std::string commit;    // of a hub checkpoint, else empty
  std::string name;      // revision or path, for messages and for the plugin
  std::optional<int64_t> step = {};
  std::optional<int64_t> tokens = {};
};

// As an average sees it.
AverageMember average_member(const KeptMember& member);

struct KeepOptions {
  quench_dtype dtype = kFloat32;
  std::vector<double> weights = {};  // what a search found, else empty
  uint32_t threads = 1;
  std::filesystem::path tokenizer = {};  // folder or file to copy; empty: the last member's
  std::string manifest = {};             // text, for the model card
  uint64_t shard_bytes = 5'000'000'000;  // more than this is split, as the hub's tools do
  // For the folder's seal; null: what the pass itself finds out about the members. Then also their
  // content hashes, which the pass must find.
  nlohmann::json made_from = nullptr;
  std::vector<std::string> member_hashes = {};
  bool replaces = false;  // a folder made from something else makes way
  std::function<void(uint64_t done, uint64_t total)> on_progress = {};  // bytes of weights
};

struct KeptAverage {
  std::string identity;                    // see average_identity
  std::vector<std::string> member_hashes;  // content hashes; "" for members of weight 0
  uint64_t bytes = 0;                      // of weights
};

// Writes `folder`: weights as safetensors, config.json (the last member's, with the new element
// type), tokenizer files, README.md, the model card, and its seal. It appears complete and durable
// or not at all; where another process has written the same meanwhile, that stays. Each byte of the
// members is read once; their content hashes are taken on the way. Warns when the members' configs
// differ. Throws Error: FAILED_PRECONDITION when `folder` is there and does not make way,
// RESOURCE_EXHAUSTED when it does not fit, CANCELLED, and what AverageSource throws.
KeptAverage keep_average(Catalog& catalog, const AveragingCell& averaging,
                         const std::vector<KeptMember>& members,
                         const std::filesystem::path& folder, const KeepOptions& options = {});

}  // namespace quench
