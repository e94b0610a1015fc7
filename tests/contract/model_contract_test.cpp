// Those of this build, each held to what every family promises, on a small model of its own.
#include <catch2/catch.hpp>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/small_models.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

TEST_CASE("every model keeps what model families promise", "[contract][models]") {
  for (const quench_item* item : items_of(MODEL_LIBRARIES, "model")) {
    BuiltPlugin plugin(*item);
    plugin.use_model(small_model(item->id));
    check_promises(plugin);
  }
}

}  // namespace quench::test
