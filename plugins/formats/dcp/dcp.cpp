// dcp: what torch.distributed.checkpoint.save writes, a folder with `.metadata` and the files of
// its ranks (__0_0.distcp, __1_0.distcp, ...).
//
//   quench eval RUN/step-1000 ...        # a folder in which config.json lies, too
//   checkpoints: {model: RUN}            # with the folders step-1000, step-2000, ...
//
// `.metadata` is a pickle; it is read as data, and nothing in it is executed. A tensor is put
// together from the parts that ranks wrote, whatever the way in which it was sharded. Of a
// training's state the model's is read; the optimizer's and the rest are left alone. torch writes
// `.metadata` when all ranks are done, so a folder without it is one that is still being written.
#include <algorithm>
#include <string>
#include <vector>

#include "formats/dcp/dcp_checkpoint.hpp"

namespace kit = quench::kit;

namespace quench::formats {

namespace {

constexpr int32_t kByNameAndContent = 60;

struct Dcp {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::Place& place, std::string& why) {
    if (!place.file().empty()) {
      return 0;
    }
    const std::vector<std::string> names = place.names();
    const bool parts = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.ends_with(".distcp");
    });
    if (!place.has(kDcpMetadata)) {
      if (parts) {
        why =
            "its .distcp files have no .metadata beside them, which torch writes last: an "
            "unfinished save, or one without collectives";
      }
      return 0;
    }
    return parts && place.head(kDcpMetadata, 1) == "\x80" ? kByNameAndContent : 0;
  }

  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    return std::make_unique<DcpCheckpoint>(place);
  }
};

}  // namespace

}  // namespace quench::formats

QUENCH_MODULE("quench.dcp", "0.1.0",
              kit::format<quench::formats::Dcp>(
                  {.id = "dcp",
                   .version = "0.1.0",
                   .summary = "Reads what torch.distributed.checkpoint saves: the parts of ranks.",
                   .reference = "PyTorch, torch/distributed/checkpoint"}))
