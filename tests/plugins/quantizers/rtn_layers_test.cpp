#include <catch2/catch.hpp>

#include "tests/plugins/quantizers/layer_cases.hpp"

namespace quench::test {

TEST_CASE("rtn agrees with the reference layers", "[quantizers][rtn]") {
  const bool float64 = GENERATE(false, true);
  Comparison comparison;
  for_each_layer_case("rtn", [&](const Layer& layer, const LayerCase& expected) {
    QuantizerBench bench(expected.parameters, layer.weight.columns);
    compare(layer, expected, bench.quantize(layer.weight, 0, float64), 1e-9, 1e-12, comparison);
  });
  print(float64 ? "rtn, float64 weights" : "rtn, float32 weights", comparison);
  CHECK(comparison.cases == 84);
}

}  // namespace quench::test
