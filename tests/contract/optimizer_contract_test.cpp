// Those of this build, each held to what every optimizer promises.
#include <catch2/catch.hpp>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

TEST_CASE("every optimizer keeps what optimizers promise", "[contract][optimizers]") {
  for (const quench_item* item : items_of(OPTIMIZER_LIBRARIES, "optimizer")) {
    BuiltPlugin plugin(*item);
    check_promises(plugin);
  }
}

}  // namespace quench::test
