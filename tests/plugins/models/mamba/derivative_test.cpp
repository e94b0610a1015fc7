#include <catch2/catch.hpp>

#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/mamba/reference.hpp"

namespace quench::test {

namespace {

// Prefix and alternatives, documents, and padding.
const std::vector<int32_t> kSegments = {1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0, 1, 1, 2, 2, 2, -1};

}  // namespace

TEST_CASE("mamba: gradients are those of central differences", "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  Tokens tokens = reference.first(9);
  differentiates(reference.config, reference.weights, tokens);
  tokens.segments = kSegments;
  differentiates(reference.config, reference.weights, tokens);
}

TEST_CASE("mamba: products with the Hessian are those of differences of gradients",
          "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  Tokens tokens = reference.first(9);
  has_curvature(reference.config, reference.weights, tokens);
  tokens.segments = kSegments;
  has_curvature(reference.config, reference.weights, tokens);
}

TEST_CASE("mamba: the number of threads changes no bit", "[models][mamba]") {
  const nlohmann::json config = {{"model_type", "mamba"},    {"vocab_size", 40},
                                 {"hidden_size", 48},        {"num_hidden_layers", 2},
                                 {"state_size", 16},         {"conv_kernel", 4},
                                 {"initializer_range", 0.2}, {"tie_word_embeddings", false}};
  ModelDriver drawn(config.dump(), kit::kFloat64);
  MemorySource source;
  for (const quench_parameter_info& info : drawn.parameter_infos()) {
    source.add(info.name, {info.shape, info.shape + info.dimensions},
               doubles(drawn.weight(info.name, at::kDouble)), kit::kFloat32);
  }
  Tokens tokens{2, 80, {}};
  for (int32_t t = 0; t < 160; ++t) {
    tokens.ids.push_back(t * t % 37);
  }
  same_for_threads(config.dump(), source, tokens);
}

}  // namespace quench::test
