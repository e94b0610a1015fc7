#include "core/arithmetic/mean_bits.hpp"

#include <array>
#include <catch2/catch.hpp>

namespace quench {

TEST_CASE("mean bits: each layer counts by its weights", "[arithmetic]") {
  const std::array layers = {LayerBits{3, 4}, LayerBits{16, 1}, LayerBits{4.5, 3}};
  CHECK(mean_bits(layers) == (12 + 16 + 13.5) / 8);
}

TEST_CASE("mean bits: a model without quantized layers has none", "[arithmetic]") {
  CHECK(mean_bits({}) == 0);
}

}  // namespace quench
