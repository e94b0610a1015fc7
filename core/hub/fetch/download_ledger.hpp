// What a run downloaded into the hub's cache: the files that it may remove again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/io/file.hpp"
#include "core/hub/hub_file.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

// A file of sealed lines, one for each file that arrived, written before that one gets its name in
// the cache: a run that goes on after a kill knows what is its own. A file is known by device,
// inode, size and time of modification, so that one which somebody else put there later under the
// same name is not removed. Lines that do not verify count as none.
class DownloadLedger {
 public:
  // Reads the file, if there is one. Throws what reading it throws; Error(DATA_LOSS) naming the
  // line if one that verifies holds what no hub has.
  explicit DownloadLedger(std::filesystem::path file);

  // Durable when it returns. Throws Error naming the ledger.
  void arrived(const HubSpec& repository, const std::string& commit, const HubFile& file,
               const FileIdentity& identity);

  // A blob of one repository.
  struct Blob {
    std::set<FileIdentity> arrivals;  // without the time of change, which renaming sets
    std::set<std::string> commits;    // that it was fetched for
    bool holds_weights = false;
  };
  // By hash.
  using Blobs = std::map<std::string, Blob>;
  // All blobs by repository, "hf://org/name".
  const std::map<std::string, Blobs>& all() const { return blobs_; }
  // Those of one repository in the cache below `root` that are still files which arrived; each has
  // the one arrival that is there.
  Blobs present(const std::filesystem::path& root, const HubSpec& repository) const;
  // By what a file is known here, or nothing.
  static std::optional<FileIdentity> identity_of(const std::filesystem::path& file);

 private:
  void add(const std::string& repository, const std::string& commit, const std::string& path,
           const std::string& hash, FileIdentity identity);

  std::filesystem::path file_;
  std::map<std::string, Blobs> blobs_;  // by repository
};

// Removes the weights that the ledger has of one repository, as far as no other run wants them:
// blobs that were fetched for `commits` alone, that are still the files which arrived, to which no
// other snapshot links, and of whose commits no other process claims one; under the same conditions
// the beginnings of such blobs. Their links go with them;
// the small files and the names of the revisions stay, so that the cache is one that other tools
// read and a later fetch completes. A kill leaves a blob without links, a claim, or the beginning
// of a file that another process has fetched since, which the next call removes. Returns the number
// of bytes removed. Throws Error naming the path of what cannot be removed.
uint64_t evict_weights(const std::filesystem::path& root, const HubSpec& repository,
                       const std::set<std::string>& commits, const DownloadLedger& ledger);

// Bytes in the cache that the ledger has of one repository. Those that were fetched for `released`
// commits alone and are still there because somebody else wants them do not count.
uint64_t bytes_held(const std::filesystem::path& root, const HubSpec& repository,
                    const std::set<std::string>& released, const DownloadLedger& ledger);

}  // namespace quench
