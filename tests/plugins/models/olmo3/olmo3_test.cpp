#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/saved_family.hpp"

namespace quench::test {

TEST_CASE("olmo3: logits, loss and gradient are the reference's", "[models][olmo3]") {
  SECTION("on the processor's kernels") {
    matches_transformers("olmo3");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    matches_transformers("olmo3");
  }
}

TEST_CASE("olmo3: parameters have the names of the library's files", "[models][olmo3]") {
  has_the_names_of("olmo3");
}

TEST_CASE("olmo3: gradients are those of central differences", "[models][olmo3]") {
  SECTION("on the processor's kernels") {
    differentiates_saved("olmo3");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    differentiates_saved("olmo3");
  }
}

TEST_CASE("olmo3: block by block it has the gradient that it has as a whole", "[models][olmo3]") {
  differentiates_saved_by_block("olmo3");
}

TEST_CASE("olmo3: a config that cannot be is refused by key", "[models][olmo3]") {
  const SavedFamily saved("olmo3");
  saved.refuses("rope_scaling", {{"rope_type", "dynamic"}},
                "rope_type dynamic, wanted default, linear, llama3 or yarn");
  saved.refuses("layer_types", {"chunked", "chunked", "chunked", "chunked"},
                "layer_types: chunked");
}

TEST_CASE("olmo3: an op changes its keys and values", "[models][olmo3]") {
  lets_an_op_change_keys_and_values_of_saved("olmo3");
}

}  // namespace quench::test
