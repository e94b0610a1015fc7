// The section `cluster`: what `quench submit` asks a cluster for. No value of a run depends on it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/yaml.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

enum class Scheduler { kSlurm, kHtcondor };

// "slurm", "htcondor".
const char* scheduler_name(Scheduler scheduler);
// Nothing for another word.
std::optional<Scheduler> scheduler_of(std::string_view name);

inline constexpr uint64_t kMostTasks = 100'000;

// A key that is not given is empty, 0 or nothing, except where a default stands here.
struct ManifestCluster {
  std::optional<Scheduler> to;
  uint64_t shares = 0;
  uint64_t at_once = 0;  // tasks that run at the same time
  std::string partition;
  std::string account;
  std::string qos;
  uint64_t time_seconds = 0;
  uint64_t memory_bytes = 0;
  uint64_t disk_bytes = 0;
  uint64_t cpus = 0;
  std::optional<uint64_t> gpus;
  std::string gpu_type;  // of `gpus: "a100:2"`
  uint64_t grace_seconds = 300;
  bool requeue = true;
  uint64_t retries = 20;
  std::vector<std::string> before;  // lines of shell
  std::vector<std::string> slurm;   // options: --constraint=avx512
  std::vector<std::string> htcondor;
};

nlohmann::json cluster_schema(const Catalog& catalog);
ManifestCluster read_cluster(const YamlNode& node, Problems& problems);

// "90m", "4h", "2d", "04:00:00", "1-12:00:00" in seconds; nothing for another form, or 0.
std::optional<uint64_t> parse_duration(std::string_view text);
// "500MB", "32 GB", "1.5TiB" in bytes; nothing for another form, or 0.
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace quench
