// Names of the files that a run's attempts write: records-<job>-<number>-<8 hex>.jsonl. The number
// orders the attempts of a job without a clock; the random digits keep two attempts apart that
// start at the same time.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quench {

struct AttemptName {
  uint64_t number = 0;  // 0 in files that have none
  std::string job;
  std::string id;  // "<number>-<8 hex>", the name without the job
  std::filesystem::path path;
  auto operator<=>(const AttemptName&) const = default;
};

// The files in `folder` named <prefix>-<job>-<attempt><extension>, sorted by number. A missing
// folder has none. Throws Error if the folder cannot be listed.
std::vector<AttemptName> find_attempts(const std::filesystem::path& folder,
                                       const std::string& prefix, const std::string& extension);

// An id for the next attempt of `job`: the highest number so far plus one.
std::string next_attempt(const std::filesystem::path& folder, const std::string& job);

}  // namespace quench
