// Those of this build, each held to what every format promises.
#include <catch2/catch.hpp>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

TEST_CASE("every format keeps what formats promise", "[contract][formats]") {
  for (const quench_item* item : items_of(FORMAT_LIBRARIES, "format")) {
    BuiltPlugin plugin(*item);
    check_promises(plugin);
  }
}

}  // namespace quench::test
