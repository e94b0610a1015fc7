// Those of this build, each held to what every averaging promises.
#include <catch2/catch.hpp>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

TEST_CASE("every averaging keeps what averagings promise", "[contract][averaging]") {
  for (const quench_item* item : items_of(AVERAGING_LIBRARIES, "averaging")) {
    BuiltPlugin plugin(*item);
    check_promises(plugin);
  }
}

}  // namespace quench::test
