// Those of this build, each held to what every transform promises.
#include <catch2/catch.hpp>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

TEST_CASE("every transform keeps what transforms promise", "[contract][transforms]") {
  for (const quench_item* item : items_of(TRANSFORM_LIBRARIES, "transform")) {
    BuiltPlugin plugin(*item);
    check_promises(plugin);
  }
}

}  // namespace quench::test
