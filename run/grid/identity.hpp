// Content hashes of what a value depends on: checkpoints, corpora, plugins, the machine.
//
// Hashes are measured once and remembered with the times of the measured files, so that a plan of
// thousands of cells reads no weights. Small files are read immediately.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/metric_records.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/store/fingerprints.hpp"
#include "run/grid/hub_memory.hpp"
#include "run/grid/read_inputs.hpp"

namespace quench {

struct CheckpointIdentity {
  std::string content;  // content_hash of its tensors
  std::string config;   // SHA-256 of the text of config.json
  std::string family;   // id of the model plugin; "" while unknown
  uint64_t bytes = 0;   // of its weight files
  uint64_t parameters = 0;
  // Of its files when they were read; "" where the files are not here, and the rest is remembered
  // of the hub's commit.
  std::string times;
};

// The tokenizer that the manifest names for this checkpoint; "": its own.
const std::string& tokenizer_named(const Experiment& experiment, const CheckpointCell& cell);

// One hash over the code of all plugins of a kind: which of them answers may change with any.
std::string code_of_kind(const Catalog& catalog, const std::string& kind);

// The kind of machine that an experiment runs on, for keys: {isa, libm, device, dtype}.
nlohmann::json machine_of(const Experiment& experiment);

// The computing libraries of these plugins: {soname: build id}, and {soname: {plugin: build id}}
// where plugins in processes of their own run on different files of one name. On a GPU with what
// computes there.
nlohmann::json libraries_of(const std::vector<const PluginDescription*>& plugins,
                            quench_device device = {QUENCH_DEVICE_CPU, 0});

class Identities {
 public:
  Identities(Catalog& catalog, const Fingerprints& fingerprints, HubEnvironment hub);

  // What is remembered of the checkpoint's unchanged files, or is quick to read; where the hub's
  // cache lacks the weights, what is remembered of their commit; else nothing.
  std::optional<CheckpointIdentity> remembered(const CheckpointCell& cell);
  // Reads what is not remembered, including all weights; `family` may stay empty. [thread-safe]
  CheckpointIdentity read(const CheckpointCell& cell);
  // Like read, but asks the plugins for the family. Throws Error if none fits.
  CheckpointIdentity measured(const CheckpointCell& cell);

  // Why the files cannot be read at all, with the command that gets them, or "".
  std::string absence(const CheckpointCell& cell) const;
  // Likewise where the identity is known all the same: one that remembered() took from the commit.
  std::string absence_of_known(const CheckpointCell& cell);
  // Holds opened files to what keys have: the config's text must be that, and each tensor is
  // compared where it is read (HeldSource), since what is remembered of a file proves nothing of
  // its bytes. Throws Error(UNAVAILABLE) for others.
  CheckpointFolder hold(const CheckpointCell& cell, CheckpointFolder folder);
  // Forgets what was read of files that have changed since: a training made them again.
  void forget_if_changed(const CheckpointCell& cell);

  // SHA-256 of a corpus's content, if remembered or quick to read.
  std::optional<std::string> remembered_corpus(const CorpusUse& use);
  std::string measured_corpus(const CorpusUse& use);
  // What a metric reads besides its corpora. Asks the plugin once, or not at all if the schema has
  // no path. Throws Error like wanted_records().
  const WantedRecords& records(const MetricCell& metric);
  // Throws Error(UNAVAILABLE) if the instance that measured read anything else than records() says.
  void check_read(const MetricCell& metric, const WantedRecords& read);
  // SHA-256 of a file that a parameter names. Throws Error(UNAVAILABLE) where it is neither
  // remembered nor quick to read, unless `measure` is set.
  std::string file(const std::filesystem::path& file, bool measure);
  // What plugins from elsewhere read besides.
  ReadMemory& reads() { return reads_; }
  // Whether a corpus supplies text, which is tokenized. Reads its first document if that is not
  // remembered.
  bool gives_text(const CorpusUse& use);
  // The tokenizer that the manifest names, or the checkpoint's own.
  TokenizerIdentity tokenizer(const Experiment& experiment, const CheckpointCell& cell);
  // The same, if a key has it.
  std::optional<TokenizerIdentity> known_tokenizer(const Experiment& experiment,
                                                   const CheckpointCell& cell);

  Catalog& catalog() const { return catalog_; }
  const HubEnvironment& hub() const { return hub_; }

 private:
  nlohmann::json checkpoint_question(const CheckpointCell& cell) const;
  // Those whose times show whether the checkpoint changed.
  std::vector<std::filesystem::path> watched(const CheckpointCell& cell) const;
  // Takes `bytes` from the budget for unrequested reads; returns false if too little is left.
  bool spend(uint64_t bytes);
  // What is known at this moment, or nothing.
  std::optional<CheckpointIdentity> known(const CheckpointCell& cell);
  CheckpointIdentity keep(const CheckpointCell& cell, CheckpointIdentity identity);
  // Hashes all tensors, and remembers the checksums of their blocks under the content.
  TensorHashes hash(const TensorSource& source) const;
  TokenizerIdentity own_tokenizer(const CheckpointCell& cell);
  // The family that opens this config, as far as known; asks the plugins if `measure` is set.
  std::string family_of(const CheckpointCell& cell, const std::string& config_hash, bool measure);

  Catalog& catalog_;
  const Fingerprints& fingerprints_;
  HubEnvironment hub_;
  std::string families_;  // hash over the code of all model plugins
  HubMemory commits_;
  ReadMemory reads_;
  std::mutex mutex_;  // the I/O thread reads ahead
  uint64_t budget_;   // bytes that may be read without a request
  std::map<std::string, CheckpointIdentity> checkpoints_;  // by location
  std::map<std::string, std::string> families_by_config_;  // by hash
  std::map<std::string, std::string> corpora_;             // by plugin and parameters
  std::map<std::string, bool> texts_;                      // whether it supplies text
  std::map<std::string, TokenizerIdentity> tokenizers_;    // by path, or place of a checkpoint
  std::map<std::string, WantedRecords> records_;           // by metric and parameters
};

}  // namespace quench
