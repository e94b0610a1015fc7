// kernels.so, which nvcc made of the sources that the tests beside this one run on the host.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>

#include "quantizers/gptq/device/entries.hpp"
#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/round_rows_entries.hpp"
#include "shared/cuda/entries.h"
#include "tests/plugins/quantizers/column_loop_case.hpp"
#include "tests/plugins/quantizers/column_loop_layers.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/skip.hpp"

namespace quench::test {

namespace {

constexpr size_t kWhyBytes = 256;

// Skips the calling test where the build has no kernels.
void* library() {
  if (!std::filesystem::exists(QUENCH_KERNELS_LIBRARY)) {
    skip("this build has no kernels for GPUs: no nvcc was found");
  }
  void* handle = dlopen(QUENCH_KERNELS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    FAIL(dlerror());
  }
  return handle;
}

template <typename Function>
Function* function(const char* name) {
  void* found = dlsym(library(), name);
  INFO(name);
  REQUIRE(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

// How many GPUs there are; `why` says why there is none.
int devices(std::string& why) {
  char text[kWhyBytes] = {};
  const int count =
      function<decltype(quench_cuda_devices)>("quench_cuda_devices")(text, sizeof text);
  why = count == 0 ? "no device" : text;
  return count;
}

void need_gpu() {
  std::string why;
  if (devices(why) <= 0) {
    skip("no GPU: " + why);
  }
}

// On a GPU pow() rounds in another way than in a processor's library.
bool uses_pow(const quantizers::GridKind& kind) {
  return kind.mse > 0 && kind.mse != 2;
}

template <typename From, typename T>
void check_layer(const ColumnLoopLayer& layer, const char* name) {
  ColumnLoopCase<From, T> on_host(layer.weight, layer.factored, layer.options, layer.corrected);
  ColumnLoopCase<From, T> on_device(layer.weight, layer.factored, layer.options, layer.corrected);
  char why[kWhyBytes] = {};
  REQUIRE(function<quantizers::RunColumnsOnDevice<From, T>>(name)(&on_device.loop(), 0, why,
                                                                  sizeof why) == 0);
  const ColumnLoopResult& wanted = on_host.run_on_host(cuda::Order::kFirstToLast);
  const ColumnLoopResult& got = on_device.result();
  CHECK(differences(got.codes, wanted.codes) == "");
  CHECK(differences(got.scales, wanted.scales) == "");
  CHECK(differences(got.zeros, wanted.zeros) == "");
  CHECK(differences(got.loss, wanted.loss) == "");
}

}  // namespace

TEST_CASE("kernels: the library is loaded without a driver and names its architectures",
          "[quantizers][cuda]") {
  const std::string text =
      function<decltype(quench_cuda_architectures)>("quench_cuda_architectures")();
  CHECK_THAT(text, Catch::StartsWith("sm_80 ") && Catch::Contains(" compute_"));
}

TEST_CASE("kernels: without a GPU each function says so and computes nothing",
          "[quantizers][cuda]") {
  std::string why;
  if (devices(why) > 0) {
    skip("there is a GPU");
  }
  CHECK(!why.empty());
  const ColumnLoopLayer layer = column_loop_layers().front();
  ColumnLoopCase<float, float> columns(layer.weight, layer.factored, layer.options, false);
  char said[kWhyBytes] = {};
  CHECK(function<quantizers::RunColumnsOnDevice<float, float>>(quantizers::kColumnsFloatFloat)(
            &columns.loop(), 0, said, sizeof said) == 1);
  CHECK_THAT(said, Catch::StartsWith("no such device: "));
  quantizers::RoundRows<double> rows{};
  CHECK(function<quantizers::RoundRowsOnDevice<double>>(quantizers::kRoundRowsDouble)(
            &rows, 0, said, sizeof said) == 1);
}

TEST_CASE("kernels: on a GPU the column loop has the bits of its host form",
          "[quantizers][gptq][cuda]") {
  need_gpu();
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    if (uses_pow(layer.options.kind)) {
      continue;
    }
    INFO(layer.name);
    check_layer<float, float>(layer, quantizers::kColumnsFloatFloat);
    check_layer<float, double>(layer, quantizers::kColumnsFloatDouble);
    check_layer<double, double>(layer, quantizers::kColumnsDoubleDouble);
  }
}

TEST_CASE("kernels: on a GPU rounding has the bits of its host form", "[quantizers][rtn][cuda]") {
  need_gpu();
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    const std::vector<double>& weight = layer.weight.values;
    const int64_t rows = layer.weight.rows;
    const int64_t columns = layer.weight.columns;
    const quantizers::Groups groups = quantizers::groups_of(columns, layer.options.group_size);
    const quantizers::CodedStorage wanted(rows, columns, groups);
    const quantizers::CodedStorage got(rows, columns, groups);
    const auto kernel = [&](const quantizers::Coded& to) {
      return quantizers::RoundRows<double>{
          weight.data(),      rows,    columns,         groups.size,      groups.count,
          layer.options.kind, nullptr, to.codes.data(), to.scales.data(), to.zeros.data(),
          groups.count,       1};
    };
    if (uses_pow(layer.options.kind)) {
      continue;
    }
    INFO(layer.name);
    const quantizers::RoundRows<double> on_host = kernel(wanted.view());
    cuda::run_on_host(on_host, on_host.blocks());
    const quantizers::RoundRows<double> on_device = kernel(got.view());
    char why[kWhyBytes] = {};
    REQUIRE(function<quantizers::RoundRowsOnDevice<double>>(quantizers::kRoundRowsDouble)(
                &on_device, 0, why, sizeof why) == 0);
    CHECK(differences(got.view().codes, wanted.view().codes) == "");
    CHECK(differences(got.view().scales, wanted.view().scales) == "");
    CHECK(differences(got.view().zeros, wanted.view().zeros) == "");
  }
}

}  // namespace quench::test
