// Remembers between runs what was measured about files, as long as the files stay unchanged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace quench {

// Each entry is a small sealed file under home/fingerprints, named by a hash of the question and
// of path, device, inode, size and both times of every file. A folder stands for all regular
// files below it, following links, at most 10,000. Entries are a cache: one that is lost or does
// not verify costs a new measurement. An entry is not kept if a file changed less than two
// seconds ago, because the next change could leave the same times. (As reliable as the kernel's
// change times: it misses a write of equal length at the same nanosecond after the clock was set
// back.)
class Fingerprints {
 public:
  // `home`: QUENCH_HOME. Empty: finds and keeps nothing. `fresh`: finds only what this object
  // remembered itself, and so measures everything anew once.
  explicit Fingerprints(std::filesystem::path home, bool fresh = false);

  // Returns the answer remembered for this question if the files are unchanged since; nothing
  // otherwise. Does not throw for missing files: it finds nothing.
  std::optional<std::string> find(const nlohmann::json& what,
                                  const std::vector<std::filesystem::path>& files) const;
  // Pass the identities from before the measurement, so that a change during it is noticed: see
  // Stamp. A cache that cannot be written is not an error.
  class Stamp;
  Stamp look(const nlohmann::json& what, const std::vector<std::filesystem::path>& files) const;
  void remember(const Stamp& before, const std::string& measured) const;
  // Takes the identities now; for callers that know that nothing changed since they measured.
  void remember(const nlohmann::json& what, const std::vector<std::filesystem::path>& files,
                const std::string& measured) const;

 private:
  std::filesystem::path file_of(const std::string& name) const;

  std::filesystem::path home_;
  bool fresh_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> own_;  // names of what this object remembered
};

// The state of the files at one moment.
class Fingerprints::Stamp {
 public:
  bool complete() const { return !name_.empty(); }
  // Whether no file changed between the two looks; also true of files that cannot be compared.
  bool same_as(const Stamp& other) const { return name_ == other.name_; }

 private:
  friend class Fingerprints;
  std::string name_;       // hash of question and identities; empty: files missing or too many
  int64_t newest_ns_ = 0;  // the latest of all times
  nlohmann::json what_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace quench
