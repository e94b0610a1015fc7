// What a quantizer that takes weights on a device leaves there, as it computes on a GPU, on tensors
// in host memory. Linked with each such plugin but gptq, whose column loop with codes is another
// one here (solve_by_kernels_test.cpp).
#include <catch2/catch.hpp>
#include <string>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

constexpr const char* kCodes[] = {"codes", "indices", "scales", "zeros", "table"};

// Of the plugin that is linked: settings that take most of its steps.
std::string settings() {
  const std::string id = linked_item().id;
  return id == "nf4" || id == "fp4" ? R"({"double_quantization":true})"
         : id == "int8"             ? R"({"activations":false})"
                                    : R"({"group_size":32})";
}

}  // namespace

TEST_CASE("a weight that stays on a device is the one that codes describe",
          "[quantizers][on_device][cuda]") {
  const Matrix weight = random_matrix(37, 133, 5);
  const Matrix x = random_matrix(300, 133, 6, true);
  const bool float64 = GENERATE(false, true);
  CAPTURE(float64);
  const matrix::LibtorchAlone as_on_a_gpu;
  QuantizerBench bench(settings(), 133);
  REQUIRE((bench.needs() & QUENCH_TAKES_DEVICE_WEIGHTS) != 0);
  if ((bench.needs() & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0) {
    REQUIRE(bench.observe(x, float64) == QUENCH_OK);
  }
  const Quantized wanted = bench.quantize(weight, 0, float64);
  REQUIRE(wanted.error == "");
  const Quantized got = bench.quantize_without_codes(weight, 0, float64);
  REQUIRE(got.error == "");
  CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
  CHECK(got.dequantized.values != weight.values);
  CHECK(got.numbers == wanted.numbers);
  CHECK(got.texts == wanted.texts);
  for (const char* name : kCodes) {
    CAPTURE(name);
    CHECK(!got.bytes.contains(name));
  }
  CHECK(got.bytes.contains("channel_scale") == wanted.bytes.contains("channel_scale"));
}

}  // namespace quench::test
