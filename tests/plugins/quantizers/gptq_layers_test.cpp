#include <ATen/Parallel.h>

#include <catch2/catch.hpp>

#include "tests/plugins/quantizers/layer_cases.hpp"

namespace quench::test {

namespace {

std::string with_precision(const std::string& parameters, const std::string& precision) {
  return "{\"precision\":\"" + precision + "\"," + parameters.substr(1);
}

}  // namespace

// Rows are compared where no value comes closer than `margin` steps to a point where its code
// changes: the noise of the arithmetic.
TEST_CASE("gptq agrees with the reference layers", "[quantizers][gptq]") {
  const auto [precision, margin, scale_error] = GENERATE(
      table<std::string, double, double>({{"float64", 1e-9, 1e-9}, {"float32", 1e-3, 1e-6}}));
  at::set_num_threads(1);  // hundreds of tiny products: a second thread would only be waited for
  Comparison comparison;
  for_each_layer_case("gptq", [&](const Layer& layer, const LayerCase& expected) {
    QuantizerBench bench(with_precision(expected.parameters, precision), layer.weight.columns);
    REQUIRE(bench.observe(layer.inputs) == QUENCH_OK);
    compare(layer, expected, bench.quantize(layer.weight), margin, scale_error, comparison);
  });
  print(("gptq, " + precision).c_str(), comparison);
  CHECK(comparison.cases == 448);
  CHECK(comparison.ratio_sum <= 1.01 * comparison.tie_cases);
}

}  // namespace quench::test
