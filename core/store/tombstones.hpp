// What somebody asked a run to forget. A tombstone names a key and the attempts whose records of it
// are hidden, so that later values count; nothing is ever removed from a file.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/store/run_folder.hpp"

namespace quench {

// Hides what these files have under these keys (key -> names of files), for good. Returns once it
// is on disk. Throws Error naming the path.
void hide_records(const std::filesystem::path& folder,
                  const std::map<std::string, std::set<std::string>>& hidden,
                  const std::string& reason);

class Tombstones {
 public:
  // Reads tombstone-*.json of the folder; adds those that do not verify to `damaged`.
  Tombstones(const std::filesystem::path& folder, std::vector<DamagedLine>& damaged);

  bool hides(const std::string& file, std::string_view key) const;
  bool any() const { return !hidden_.empty(); }

 private:
  std::set<std::pair<std::string, std::string>, std::less<>> hidden_;  // file name, key
};

}  // namespace quench
