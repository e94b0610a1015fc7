#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/saved_family.hpp"

namespace quench::test {

TEST_CASE("qwen2: logits, loss and gradient are the reference's", "[models][qwen2]") {
  SECTION("on the processor's kernels") {
    matches_transformers("qwen2");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    matches_transformers("qwen2");
  }
}

TEST_CASE("qwen2: parameters have the names of the library's files", "[models][qwen2]") {
  has_the_names_of("qwen2");
}

TEST_CASE("qwen2: gradients are those of central differences", "[models][qwen2]") {
  SECTION("on the processor's kernels") {
    differentiates_saved("qwen2");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    differentiates_saved("qwen2");
  }
}

TEST_CASE("qwen2: block by block it has the gradient that it has as a whole", "[models][qwen2]") {
  differentiates_saved_by_block("qwen2");
}

TEST_CASE("qwen2: a config that cannot be is refused by key", "[models][qwen2]") {
  const SavedFamily saved("qwen2");
  saved.refuses("use_sliding_window", false, "layer_types: sliding_attention");
  saved.refuses("sliding_window", 0, "sliding_window = 0");
}

TEST_CASE("qwen2: an op changes its keys and values", "[models][qwen2]") {
  lets_an_op_change_keys_and_values_of_saved("qwen2");
}

}  // namespace quench::test
