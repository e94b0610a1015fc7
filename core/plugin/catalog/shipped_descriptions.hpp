// What the plugins that came with the program say of themselves, written when they were built:
// descriptions.json beside them, so that no start has to ask them. An entry belongs to a build id.
// Where a library of the system lies and which build it is, the list cannot know; that is looked up
// where the program runs.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/catalog/probe.hpp"
#include "core/plugin/library/links.hpp"

namespace quench {

class ShippedDescriptions {
 public:
  // `folder`: of the program's own plugins.
  explicit ShippedDescriptions(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // What the library, which lies in the folder, says of itself. Nothing where the list has not this
  // build, where a library that came with it is of another build than then, or one that it needs is
  // not found: then it is to be asked. Reads the list at the first call.
  std::optional<ProbeResult> find(const std::filesystem::path& library,
                                  const std::string& build_id);

 private:
  const nlohmann::json& libraries();
  // Throws where it is nowhere.
  LinkedLibrary find_link(const nlohmann::json& written, const std::vector<LinkedLibrary>& brought);

  std::filesystem::path folder_;
  std::optional<nlohmann::json> libraries_;
  std::vector<LinkedLibrary> loaded_;  // by this process
  std::map<std::filesystem::path, std::string> build_ids_;
};

// Whether all plugins that come with the program are built: the list is made last. Also true where
// there is no such folder.
bool are_all_built(const std::filesystem::path& folder);

// Loads every library of the folder into this process and writes the list. A library that cannot be
// described is named on standard error and left out. Throws Error where nothing can be written.
void write_shipped_descriptions(const std::filesystem::path& folder);

// `quench __describe`, which the build runs: writes the list of the program's own plugins. Returns
// the exit code.
int describe_main();

}  // namespace quench
