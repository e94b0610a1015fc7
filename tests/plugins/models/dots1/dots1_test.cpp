#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/saved_family.hpp"

namespace quench::test {

TEST_CASE("dots1: logits, loss and gradient are the reference's", "[models][dots1]") {
  SECTION("on the processor's kernels") {
    matches_transformers("dots1");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    matches_transformers("dots1");
  }
}

TEST_CASE("dots1: parameters have the names of the library's files", "[models][dots1]") {
  has_the_names_of("dots1");
}

TEST_CASE("dots1: gradients are those of central differences", "[models][dots1]") {
  // From there on each expert has rows, in segments too, and no choice is within 0.018 of another.
  constexpr ptrdiff_t kFirst = 8;
  // A router's weight has a slope through the shares; its bias only chooses and has none.
  const std::vector<std::string> flat = SavedFamily("dots1").without_gradient();
  CHECK(flat == std::vector<std::string>{"model.layers.1.mlp.gate.e_score_correction_bias",
                                         "model.layers.2.mlp.gate.e_score_correction_bias"});
  SECTION("on the processor's kernels") {
    differentiates_saved("dots1", kFirst);
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    differentiates_saved("dots1", kFirst);
  }
}

TEST_CASE("dots1: block by block it has the gradient that it has as a whole", "[models][dots1]") {
  differentiates_saved_by_block("dots1");
}

TEST_CASE("dots1: a config that cannot be is refused by key", "[models][dots1]") {
  const SavedFamily saved("dots1");
  saved.refuses("n_group", 2, "n_group = 2, wanted 1");
  saved.refuses("num_experts_per_tok", 7, "num_experts_per_tok = 7");
  saved.refuses("routed_scaling_factor", 0, "routed_scaling_factor = 0, wanted more than 0");
  saved.refuses("n_shared_experts", nullptr, "n_shared_experts");
  saved.refuses("first_k_dense_replace", 0, "missing model.layers.0.mlp.gate.weight");
}

TEST_CASE("dots1: an op changes its keys and values", "[models][dots1]") {
  lets_an_op_change_keys_and_values_of_saved("dots1");
}

}  // namespace quench::test
