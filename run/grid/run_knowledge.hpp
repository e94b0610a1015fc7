// What is known about a run before it begins: its records and those of other runs, and the hashes
// of what they depend on.
#pragma once

#include <filesystem>
#include <string>

#include "core/hub/environment.hpp"
#include "core/store/fingerprints.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/store.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"

namespace quench {

class RunKnowledge {
 public:
  // Reads the records in the run's folder. The catalog must outlive this. `fresh`: believes no hash
  // of a file that an earlier command remembered.
  RunKnowledge(Catalog& catalog, const HubEnvironment& hub, const std::filesystem::path& home,
               const std::filesystem::path& run, bool fresh = false);

  // What the plugins of these records have read besides.
  void learn_reads(const RunRecords& of);

  const std::string folder;  // of the run, absolute: other runs' records name it
  Store store;
  Fingerprints fingerprints;
  RunRecords records;
  Finished finished;
  Identities identities;
};

}  // namespace quench
