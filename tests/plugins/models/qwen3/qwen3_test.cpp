#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/cache_reference.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/saved_family.hpp"

namespace quench::test {

TEST_CASE("qwen3: logits, loss and gradient are the reference's", "[models][qwen3]") {
  SECTION("on the processor's kernels") {
    matches_transformers("qwen3");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    matches_transformers("qwen3");
  }
}

TEST_CASE("qwen3: parameters have the names of the library's files", "[models][qwen3]") {
  has_the_names_of("qwen3");
}

TEST_CASE("qwen3: gradients are those of central differences", "[models][qwen3]") {
  SECTION("on the processor's kernels") {
    differentiates_saved("qwen3");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    differentiates_saved("qwen3");
  }
}

TEST_CASE("qwen3: block by block it has the gradient that it has as a whole", "[models][qwen3]") {
  differentiates_saved_by_block("qwen3");
}

TEST_CASE("qwen3: a config that cannot be is refused by key", "[models][qwen3]") {
  const SavedFamily saved("qwen3");
  saved.refuses("hidden_act", "gelu", "hidden_act gelu, wanted silu");
  saved.refuses("layer_types", nlohmann::json::array({"full_attention"}),
                "wanted a list of 3 types");
}

TEST_CASE("qwen3: an op changes its keys and values", "[models][qwen3]") {
  lets_an_op_change_keys_and_values_of_saved("qwen3");
}

TEST_CASE("qwen3: with rounded keys and values logits are the reference's", "[models][qwen3]") {
  matches_transformers_with_a_rounded_cache("qwen3");
}

}  // namespace quench::test
