// What was measured of a hub's commits, which never change. It answers where the cache does not
// hold the weights any more, so that cells that are finished stay finished.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

// Answers stand under repository, commit and the file that the spec names. Nothing is remembered of
// a snapshot with files that its commit does not vouch for: what is no link to a blob. All
// functions find and keep nothing for checkpoints that are not the hub's.
class HubMemory {
 public:
  // All must outlive it.
  HubMemory(const Catalog& catalog, const Fingerprints& fingerprints, const HubEnvironment& hub)
      : catalog_(catalog), fingerprints_(fingerprints), hub_(hub) {}

  // What remember_checkpoint() got, if the same code would read the same files today.
  std::optional<nlohmann::json> checkpoint(const CheckpointCell& cell) const;
  // `files`: those of the weights.
  void remember_checkpoint(const CheckpointCell& cell,
                           const std::vector<std::filesystem::path>& files,
                           nlohmann::json answer) const;

  // The checkpoint's own tokenizer.
  std::optional<TokenizerIdentity> tokenizer(const CheckpointCell& cell) const;
  void remember_tokenizer(const CheckpointCell& cell, const TokenizerIdentity& identity) const;

 private:
  // Null where the commit is not known.
  nlohmann::json question(const CheckpointCell& cell) const;

  const Catalog& catalog_;
  const Fingerprints& fingerprints_;
  const HubEnvironment& hub_;
};

}  // namespace quench
