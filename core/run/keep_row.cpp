#include "core/run/keep_row.hpp"

#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "core/run/averaging/keep_average.hpp"
#include "core/run/grid/grid.hpp"
#include "core/run/weights/open_checkpoint.hpp"

namespace quench {

void keep_row(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
              const std::vector<double>& found, const KeepPlace& place) {
  const std::filesystem::path folder =
      place.folder / folder_name(weights_name(experiment, weights));
  if (std::filesystem::exists(folder)) {
    return;
  }
  std::vector<KeptMember> members;
  for (const size_t member : weights.members) {
    const CheckpointCell& cell = experiment.checkpoints[member];
    members.push_back({open_files(cell, place.hub), cell.location,
                       locate_checkpoint(cell, place.hub).commit,
                       cell.revision.empty() ? cell.model : cell.revision, cell.step, cell.tokens});
  }
  KeepOptions keep;
  keep.weights = found;
  keep.threads = HostServices::instance().threads();
  keep.manifest = place.manifest;
  std::filesystem::create_directories(place.folder);
  keep_average(catalog, experiment.averagings[*weights.averaging], members, folder, keep);
}

}  // namespace quench
