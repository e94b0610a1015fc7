// One attempt at a run: its records, log, heartbeat, claims and death notes.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/manifest_options.hpp"
#include "cli/progress.hpp"
#include "cli/run_log.hpp"
#include "core/store/claims.hpp"
#include "core/store/heartbeat.hpp"
#include "core/store/record_file.hpp"
#include "run/grid/expected_run.hpp"
#include "run/runner.hpp"

namespace quench {

struct RunOptions {
  ManifestOptions manifest;
  bool dry_run = false;
  bool fail_fast = false;
  bool fresh = false;
  bool fetch = false;
  std::string retry;
  std::string progress;
  unsigned lease = 60;  // seconds
};

// One attempt at a run: saves each record before the next cell begins.
class Attempt final : private RunStatus {
 public:
  // `texts`: of current_texts. `to_do`, `total`: numbers of cells from the survey. `supply` brings
  // weights, or is nullptr.
  Attempt(const RunOptions& options, const LoadedRun& run, RunKnowledge& knowledge,
          Context& context, nlohmann::json texts, uint64_t to_do, uint64_t total,
          ExpectedRun expected, WeightsSupply* supply);

  // Throws CANCELLED with the command that continues; UsageError for what is found before any work.
  std::vector<Record> run();

  // The records that this attempt added.
  const std::vector<Record>& kept() const { return kept_; }
  // Folders of weights that it could not write, each with the reason.
  const std::vector<std::string>& unwritten() const { return unwritten_; }

 private:
  void begin() override;
  Claims* claims() override { return claims_ ? &*claims_ : nullptr; }
  std::map<std::string, std::string> deaths() override;
  void step(const std::string& what, uint64_t done, uint64_t total) override;
  void keep(const std::vector<Record>& values) override;
  void tell_unwritten(const std::string& line) override;

  void open_file();
  void write_processes();

  const RunOptions& options_;
  const LoadedRun& run_;
  RunKnowledge& knowledge_;
  Context& context_;
  WeightsSupply* supply_;  // nullptr: all weights are here
  nlohmann::json texts_;
  const std::string job_ = std::to_string(std::max<int64_t>(0, options_.manifest.job));
  uint64_t to_do_;
  uint64_t total_;
  RunLog log_;
  RunEta eta_;
  Progress progress_;
  uint64_t failed_ = 0;
  bool started_ = false;
  std::optional<RecordFile> file_;
  std::optional<Heartbeat> heartbeat_;
  std::optional<Claims> claims_;
  std::vector<Record> kept_;
  std::vector<std::string> unwritten_;
};

}  // namespace quench
