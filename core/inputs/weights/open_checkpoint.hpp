// From a checkpoint's name to its files, and from weights to a model in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

// Where the checkpoint was found when its experiment was made, or else where it is now. Throws
// Error when a hub checkpoint is not in the cache.
LocatedCheckpoint locate_checkpoint(const CheckpointCell& cell, const HubEnvironment& hub);
// Notes in the cells where hub checkpoints lie that the cache has: each is looked up once.
void locate_checkpoints(std::vector<Experiment>& experiments, const HubEnvironment& hub);

// Why the checkpoint's weights cannot be read at all, with the command that gets them, or "".
// Throws Error(UNAVAILABLE) where that may be told later.
std::string weights_absence(const CheckpointCell& cell, const HubEnvironment& hub);

// The files of a checkpoint, its config taken from the manifest where that gives one. Files out of
// the hub's cache are compared with the hashes that name them: throws what check_blob throws.
CheckpointFolder open_files(Catalog& catalog, const CheckpointCell& cell,
                            const HubEnvironment& hub);
// The same for who wants shapes and no values: weights are not compared, and so not read.
CheckpointFolder open_headers(Catalog& catalog, const CheckpointCell& cell,
                              const HubEnvironment& hub);

// A model in memory, opened by `family`, or by the one that likes the config best where that is
// empty. `source` may be any set of weights for this config; `where` is the config's
// path, for messages.
ModelHandle open_model(Catalog& catalog, const std::shared_ptr<const TensorSource>& source,
                       const std::string& config_json, const std::string& where,
                       const std::string& family, quench_dtype dtype, quench_device device);

// Both at once, for one checkpoint as it is.
struct OpenCheckpoint {
  CheckpointFolder folder;
  std::string commit;  // of a hub checkpoint, else empty
  ModelHandle model;
};
OpenCheckpoint open_checkpoint(Catalog& catalog, const CheckpointCell& cell,
                               const HubEnvironment& hub, quench_dtype dtype, quench_device device);

}  // namespace quench
