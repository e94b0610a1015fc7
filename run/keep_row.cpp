#include "run/keep_row.hpp"

#include "core/averaging/keep_average.hpp"
#include "core/io/atomic_file.hpp"
#include "core/plugin/host_services.hpp"
#include "core/weights/open_checkpoint.hpp"

namespace quench {

void keep_row(Catalog& catalog, const Experiment& experiment, const OwedFolder& owed,
              const std::vector<double>& found, const std::string& manifest,
              const HubEnvironment& hub) {
  const WeightsCell& weights = experiment.weights[owed.row.weights];
  std::vector<KeptMember> members;
  for (const size_t member : weights.members) {
    const CheckpointCell& cell = experiment.checkpoints[member];
    members.push_back({open_files(catalog, cell, hub), cell.location,
                       locate_checkpoint(cell, hub).commit,
                       cell.revision.empty() ? cell.model : cell.revision, cell.step, cell.tokens});
  }
  KeepOptions keep;
  keep.weights = found;
  keep.threads = HostServices::instance().threads();
  keep.manifest = manifest;
  keep.made_from = owed.made_from;
  keep.member_hashes = owed.made_from.at("averaging").at("members");
  keep.replaces = true;
  make_folders(owed.row.path.parent_path());
  keep_average(catalog, experiment.averagings[*weights.averaging], members, owed.row.path, keep);
}

}  // namespace quench
