#include "core/pass/not_finite.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"

using quench::where_activations_break;
using quench::where_weights_break;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Puts one value into a weight of the template family: width 32, two blocks.
void put(quench::ModelHandle& model, const std::string& name, int64_t row, int64_t column,
         float value) {
  quench::HostTensor weight(quench::kFloat32, {name.starts_with("blocks") ? 32 : 256, 32});
  model.weight_get(name, weight.view());
  weight.as<float>()[static_cast<size_t>(row * 32 + column)] = value;
  model.weight_set(name, weight.view());
}

std::string activations(quench::ModelHandle& model) {
  const std::vector<uint64_t> starts = {0, 4};
  quench::ActivationStream stream(model, std::vector<int32_t>{5, 6, 7, 8}, starts);
  return where_activations_break(model, stream, 0);
}

}  // namespace

TEST_CASE("not finite: the first weight that is not, and its element, are named", "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::OpenCheckpoint checkpoint = quench::test::open_template_checkpoint(folder / "model");
  CHECK(where_weights_break(checkpoint.model) == "all weights are finite");
  put(checkpoint.model, "head.weight", 7, 3, -kInfinity);
  CHECK(where_weights_break(checkpoint.model) == "weight head.weight is -inf at [7, 3]");
  put(checkpoint.model, "blocks.1.mix.weight", 31, 0, kNan);
  CHECK(where_weights_break(checkpoint.model) == "weight blocks.1.mix.weight is nan at [31, 0]");
}

TEST_CASE("not finite: the block behind which activations are not is named", "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::OpenCheckpoint checkpoint = quench::test::open_template_checkpoint(folder / "model");
  CHECK(activations(checkpoint.model) == "all activations are finite");
  put(checkpoint.model, "head.weight", 7, 3, kNan);
  CHECK(activations(checkpoint.model) == "all activations are finite");
  put(checkpoint.model, "blocks.1.mix.weight", 2, 2, kNan);
  CHECK_THAT(activations(checkpoint.model), Catch::EndsWith("of block 1"));
  put(checkpoint.model, "embed.weight", 6, 0, kNan);
  CHECK(activations(checkpoint.model) == "the embedding is not finite");
}
