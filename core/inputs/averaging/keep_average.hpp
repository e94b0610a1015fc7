// Writes an average as a checkpoint on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/inputs/averaging/average_source.hpp"

namespace quench {

// A member of an average, with the files beside its weights.
struct KeptMember {
  CheckpointFolder folder;
  std::string location;  // what the user wrote
  std::string commit;    // commit of a hub checkpoint, else empty
  std::string name;      // revision or path, for messages and for the plugin
  std::optional<int64_t> step = {};
  std::optional<int64_t> tokens = {};
  std::string family = {};  // that the user named; "": by its config
};

// The members in the form that AverageSource takes, their tensors under one spelling (spell_alike).
std::vector<AverageMember> average_members(Catalog& catalog,
                                           const std::vector<KeptMember>& members);

struct KeepOptions {
  quench_dtype dtype = kFloat32;
  std::vector<double> weights = {};  // found by a search, else empty
  uint32_t threads = 1;
  std::filesystem::path tokenizer = {};  // folder or file to copy; empty: the last member's
  std::string manifest = {};             // text, for the model card
  uint64_t shard_bytes = 5'000'000'000;  // larger weights are sharded, as by the hub's tools
  // Content of the folder's seal; null: the pass computes it. If it is set, set `member_hashes`
  // (the members' content hashes) too: the pass verifies them.
  nlohmann::json made_from = nullptr;
  std::vector<std::string> member_hashes = {};
  bool replaces = false;  // a folder made from something else is replaced
  std::function<void(uint64_t done, uint64_t total)> on_progress = {};  // bytes of weights
};

struct KeptAverage {
  std::string identity;                    // see average_identity
  std::vector<std::string> member_hashes;  // content hashes; "" for members of weight 0
  uint64_t bytes = 0;                      // bytes of weights
};

// Writes `folder`: weights as safetensors, config.json (the last member's, with the new element
// type), tokenizer files, the model card README.md, and its seal. The folder appears complete and
// durable or not at all; if another process wrote the same one meanwhile, that one stays. Reads
// each byte of the members once and computes their content hashes on the way. Warns if the members'
// configs differ. Throws Error: FAILED_PRECONDITION if `folder` exists and may not be replaced,
// RESOURCE_EXHAUSTED if it does not fit, CANCELLED, and what AverageSource throws.
KeptAverage keep_average(Catalog& catalog, const AveragingCell& averaging,
                         const std::vector<KeptMember>& members,
                         const std::filesystem::path& folder, const KeepOptions& options = {});

}  // namespace quench
