// What the plugin runs for a weight on a GPU, on one in host memory.
#include "quantizers/gptq/device/solve_by_kernels.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "quench/kit/error.hpp"
#include "tests/plugins/quantizers/column_loop_case.hpp"
#include "tests/plugins/quantizers/solved_layer.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

template <typename From, typename T>
void check_layer(ColumnLoopLayer layer, at::ScalarType type) {
  layer.options.float64 = sizeof(T) == sizeof(double);
  ColumnLoopCase<From, T> plain(layer.weight, layer.factored, layer.options, layer.corrected);
  const ColumnLoopResult& wanted = plain.run_on_host(cuda::Order::kFirstToLast);
  const SolvedLayer got = solved_by_kernels(layer, type, at::kCPU);
  CHECK(differences(got.codes, wanted.codes) == "");
  CHECK(differences(got.scales, wanted.scales) == "");
  CHECK(differences(got.zeros, wanted.zeros) == "");
  CHECK(got.loss == std::accumulate(wanted.loss.begin(), wanted.loss.end(), 0.0));
  const quantizers::reference::Solution reference =
      quantizers::reference::quantize_columns(layer.weight, layer.factored, layer.options);
  CHECK(differences(got.g_idx, reference.g_idx) == "");
  CHECK(dequantized_by_kernels(layer, type, at::kCPU).equal(dequantized_from(got, layer, type)));
}

}  // namespace

TEST_CASE("gptq by kernels: a weight and its factor become what the kernels are given",
          "[quantizers][gptq][cuda]") {
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    INFO(layer.name);
    check_layer<float, float>(layer, at::kFloat);
    check_layer<float, double>(layer, at::kFloat);
    check_layer<double, double>(layer, at::kDouble);
  }
}

TEST_CASE("gptq by kernels: a block that is too wide is refused with the bound",
          "[quantizers][gptq][cuda]") {
  ColumnLoopLayer layer = column_loop_layers().front();
  layer.options.block = 129;
  CHECK_THROWS_WITH(solved_by_kernels(layer, at::kFloat, at::kCPU),
                    "block = 129, wanted 1..128 on a device");
}

}  // namespace quench::test
