#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/cache_reference.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/saved_family.hpp"

namespace quench::test {

TEST_CASE("gemma2: logits, loss and gradient are the reference's", "[models][gemma2]") {
  SECTION("on the processor's kernels") {
    matches_transformers("gemma2");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    matches_transformers("gemma2");
  }
}

TEST_CASE("gemma2: parameters have the names of the library's files", "[models][gemma2]") {
  has_the_names_of("gemma2");
}

TEST_CASE("gemma2: gradients are those of central differences", "[models][gemma2]") {
  SECTION("on the processor's kernels") {
    differentiates_saved("gemma2");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    differentiates_saved("gemma2");
  }
}

TEST_CASE("gemma2: block by block it has the gradient that it has as a whole", "[models][gemma2]") {
  differentiates_saved_by_block("gemma2");
}

TEST_CASE("gemma2: a config that cannot be is refused by key", "[models][gemma2]") {
  const SavedFamily saved("gemma2");
  saved.refuses("final_logit_softcapping", -1.0,
                "final_logit_softcapping = -1, wanted more than 0");
  saved.refuses("query_pre_attn_scalar", 0, "query_pre_attn_scalar = 0");
  saved.refuses("use_bidirectional_attention", true, "use_bidirectional_attention true");
}

TEST_CASE("gemma2: an op changes its keys and values", "[models][gemma2]") {
  lets_an_op_change_keys_and_values_of_saved("gemma2");
}

TEST_CASE("gemma2: with rounded keys and values logits are the reference's", "[models][gemma2]") {
  matches_transformers_with_a_rounded_cache("gemma2");
}

}  // namespace quench::test
