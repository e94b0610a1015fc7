// What was measured about files, remembered between runs as long as the files are what they were.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace quench {

// One small sealed file per entry under home/fingerprints, named after a hash of what was asked and
// of path, device, inode, size and both times of every file. A folder stands for all regular files
// below it, links followed, at most 10,000. Entries are a cache: those that are lost or do not
// verify cost a measurement, and none is kept when a file changed less than two seconds ago,
// because the next change could leave the same times. (Reliable as far as the kernel's change times
// are: a clock that is set back and a write of equal length within the same nanosecond stay
// unseen.)
class Fingerprints {
 public:
  // `home`: QUENCH_HOME. Empty: nothing is found and nothing kept.
  explicit Fingerprints(std::filesystem::path home);

  // What was remembered for the same question about the same files, which are now as they were
  // then. Throws nothing for files that are not there: nothing is found.
  std::optional<std::string> find(const nlohmann::json& what,
                                  const std::vector<std::filesystem::path>& files) const;
  // Call with the identities as they were before measuring, so that a change during it is not
  // covered: see Stamp. A cache that cannot be written is no error.
  class Stamp;
  Stamp look(const nlohmann::json& what, const std::vector<std::filesystem::path>& files) const;
  void remember(const Stamp& before, const std::string& measured) const;
  // Looks now; for callers that know that nothing changed since they measured.
  void remember(const nlohmann::json& what, const std::vector<std::filesystem::path>& files,
                const std::string& measured) const;

 private:
  std::filesystem::path file_of(const std::string& name) const;

  std::filesystem::path home_;
};

// The state of the files at one moment.
class Fingerprints::Stamp {
 public:
  bool complete() const { return !name_.empty(); }

 private:
  friend class Fingerprints;
  std::string name_;  // hash of what and all identities; empty: a file is not there, or too many
  int64_t newest_ns_ = 0;  // the latest of all times
  nlohmann::json what_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace quench
