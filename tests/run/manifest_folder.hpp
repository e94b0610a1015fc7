// A folder with checkpoints that are only names, and manifests resolved against it.
#pragma once

#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

class ManifestFolder {
 public:
  // Makes the (empty) folders of `model` that are called so.
  void add_revisions(const std::string& model, const std::vector<std::string>& names) const;

  // The experiments of a manifest; it must be sound, and the editors' schema has to find it so.
  std::vector<Experiment> resolve(const std::string& text,
                                  const std::vector<std::string>& sets = {}) const;
  // What is wrong with it, without the folder's path and the list of folders that were searched;
  // "" when nothing is.
  std::string problems(const std::string& text, const std::vector<std::string>& sets = {}) const;

  const TemporaryDir& folder() const { return folder_; }

 private:
  TemporaryDir folder_;
};

// What the editors' schema has against a manifest, or "". Throws Error when it is no YAML.
std::string complaints_of_schema(const std::string& text);

// A manifest with these `checkpoints` and one metric.
std::string with_checkpoints(const std::string& checkpoints);

}  // namespace quench::test
