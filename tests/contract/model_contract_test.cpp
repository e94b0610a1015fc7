// Those of this build, each held to what every family promises, on a small model of its own.
#include <catch2/catch.hpp>

#include "promises/open_model.hpp"
#include "tests/contract/built_plugin.hpp"
#include "tests/contract/small_models.hpp"
#include "tests/contract/tensors.hpp"

namespace quench::test {

// The host then asks for a description alone before it reads any weights.
TEST_CASE("every model that comes with quench says its shapes without weights",
          "[contract][models]") {
  for (const quench_item* item : items_of(MODEL_LIBRARIES, "model")) {
    const std::string id = item->id;
    if (id.starts_with("template")) {
      continue;
    }
    BuiltPlugin plugin(*item);
    promises::OpenModel shapes(plugin, {small_model(id).config, {}}, QUENCH_OPEN_SHAPES);
    INFO(id << ": " << shapes.error.message);
    CHECK(shapes.status == QUENCH_OK);
  }
}

TEST_CASE("every model keeps what model families promise", "[contract][models]") {
  for (const quench_item* item : items_of(MODEL_LIBRARIES, "model")) {
    BuiltPlugin plugin(*item);
    plugin.use_model(small_model(item->id));
    check_promises(plugin);
  }
}

}  // namespace quench::test
