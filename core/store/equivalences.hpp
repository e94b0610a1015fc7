// Builds of a plugin that somebody showed to compute the same values.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

// "The new build of this plugin computes what the old one does": a file of its own under
// home/equivalences, sealed and never changed.
struct Equivalence {
  std::string kind;         // "quantizer"
  std::string id;           // of the plugin
  nlohmann::json old_code;  // what names the builds in content keys (plugin/code_identity.hpp)
  nlohmann::json new_code;
  std::string reason;       // by the user
  nlohmann::json evidence;  // the keys that were computed again, with both values
};

class Equivalences {
 public:
  // Reads all there are. `home`: QUENCH_HOME, or empty: none. Those that do not verify do not count
  // and are listed in damaged(). Throws Error when the folder cannot be read.
  explicit Equivalences(std::filesystem::path home);

  // Returns after it is on the disk. Throws Error naming the path; INVALID_ARGUMENT where a build
  // is no object of names.
  void add(const Equivalence& equivalence);
  // Counts it in until the process ends, and writes nothing.
  void assume(const Equivalence& equivalence);

  // One name for all builds that are equivalent, through any number of steps: the oldest, or `code`
  // itself where nothing is known. Builds of different plugins never mix.
  nlohmann::json canonical_code(const nlohmann::json& code) const;

  const std::vector<Equivalence>& all() const { return all_; }
  const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  void connect();

  std::filesystem::path home_;
  std::vector<Equivalence> all_;
  std::vector<std::string> damaged_;
  std::map<std::string, std::string> canonical_;  // as canonical JSON
};

}  // namespace quench
