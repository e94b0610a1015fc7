// How the files of a run's attempts are called: records-<job>-<number>-<8 hex>.jsonl. The number
// orders the attempts of a job without a clock; the random digits keep two that start at once
// apart.
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
  std::string id;  // "<number>-<8 hex>", the name without job
  std::filesystem::path path;
  auto operator<=>(const AttemptName&) const = default;
};

// The files in `folder` called <prefix>-<job>-<attempt><extension>, in the order of their numbers.
// A folder that is not there has none; throws Error when it cannot be listed.
std::vector<AttemptName> find_attempts(const std::filesystem::path& folder,
                                       const std::string& prefix, const std::string& extension);

// An id for the next attempt of `job`: one more than the highest number there is.
std::string next_attempt(const std::filesystem::path& folder, const std::string& job);

}  // namespace quench
