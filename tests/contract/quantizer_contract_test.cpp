// The quantizers of this build, each held to what every quantizer promises.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

// QUENCH_CONTRACT_QUANTIZERS: other libraries than those of this build, ":" between them.
TEST_CASE("every quantizer keeps what quantizers promise", "[contract][quantizers]") {
  const char* others = std::getenv("QUENCH_CONTRACT_QUANTIZERS");
  for (const quench_item* item :
       items_of(others != nullptr ? others : QUANTIZER_LIBRARIES, "quantizer")) {
    BuiltPlugin plugin(*item);
    check_promises(plugin);
  }
}

}  // namespace quench::test
