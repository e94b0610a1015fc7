// Records that two builds of a plugin were shown to compute the same values.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

// "The new build of this plugin computes what the old one computes": one sealed file under
// home/equivalences, never changed.
struct Equivalence {
  std::string kind;         // "quantizer"
  std::string id;           // id of the plugin
  nlohmann::json old_code;  // identifies the build in content keys (plugin/code_identity.hpp)
  nlohmann::json new_code;
  std::string reason;       // text from the user
  nlohmann::json evidence;  // the recomputed keys, each with both values
};

class Equivalences {
 public:
  // Reads all equivalences. `home`: QUENCH_HOME, or empty: none. Ignores those that do not verify
  // and lists them in damaged(). Throws if the folder cannot be read.
  explicit Equivalences(std::filesystem::path home);

  // Returns once the equivalence is on disk. Throws Error naming the path; INVALID_ARGUMENT if a
  // build is not an object of names.
  void add(const Equivalence& equivalence);
  // Counts the equivalence until the process ends, without writing it.
  void assume(const Equivalence& equivalence);

  // The one name for all equivalent builds, over any number of steps: the oldest, or `code` itself
  // if nothing is known. Builds of different plugins never mix.
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
