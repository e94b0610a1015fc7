// Those of this build, each held to what every metric promises.
#include <catch2/catch.hpp>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

TEST_CASE("every metric keeps what metrics promise", "[contract][metrics]") {
  for (const quench_item* item : items_of(METRIC_LIBRARIES, "metric")) {
    BuiltPlugin plugin(*item);
    check_promises(plugin);
  }
}

}  // namespace quench::test
