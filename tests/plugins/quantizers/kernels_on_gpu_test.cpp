// kernels.so, which nvcc made of the sources that the tests beside this one run on the host, called
// as the plugins call it.
#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "quantizers/awq/device/entries.hpp"
#include "quantizers/gptq/device/entries.hpp"
#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/round_rows_entries.hpp"
#include "quantizers/number_format/device/entries.hpp"
#include "quantizers/number_format/formatted_weight.hpp"
#include "quench/kit/error.hpp"
#include "shared/cuda/entries.h"
#include "shared/cuda/library.hpp"
#include "tests/plugins/quantizers/matrix.hpp"
#include "tests/plugins/quantizers/solved_layer.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test {

namespace {

const std::filesystem::path kKernels = binary_dir() / "lib/quench/cuda/kernels.so";

// Skips the calling test where the build has no kernels.
template <typename Function>
Function* function(const char* name) {
  skip_unless(std::filesystem::exists(kKernels), "this build has no kernels for GPUs: no nvcc");
  return reinterpret_cast<Function*>(cuda::kernel_function(kKernels, name));
}

// How many GPUs there are; `why` says why there is none.
int devices(std::string& why) {
  char text[256] = {};
  const int count =
      function<decltype(quench_cuda_devices)>("quench_cuda_devices")(text, sizeof text);
  why = count == 0 ? "no device" : text;
  return count;
}

// On a GPU pow() rounds in another way than in a processor's library.
bool uses_pow(const quantizers::GridKind& kind) {
  return kind.mse > 0 && kind.mse != 2;
}

// Every number format with each rule whose scales a kernel finds.
std::vector<std::pair<const number_formats::NumberFormat*, number_formats::ScaleRule>>
formats_of_kernels() {
  std::vector<std::pair<const number_formats::NumberFormat*, number_formats::ScaleRule>> out;
  for (const number_formats::NumberFormat& format : number_formats::number_formats()) {
    for (const auto rule :
         {number_formats::ScaleRule::kOfFormat, number_formats::ScaleRule::kLeastSquares}) {
      if (quantizers::finds_scales_by_kernel(format, rule)) {
        out.emplace_back(&format, rule);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("kernels: the library is loaded without a driver and names its architectures",
          "[quantizers][cuda]") {
  const std::string text =
      function<decltype(quench_cuda_architectures)>("quench_cuda_architectures")();
  CHECK_THAT(text, Catch::StartsWith("sm_80 ") && Catch::Contains(" compute_"));
}

TEST_CASE("kernels: without a GPU each call says so and computes nothing", "[quantizers][cuda]") {
  std::string why;
  if (devices(why) > 0) {
    skip("there is a GPU");
  }
  CHECK(!why.empty());
  const quantizers::RoundRows<double> rows{};
  CHECK_THROWS_WITH(cuda::run_on_gpu(quantizers::kRoundRowsDouble, rows, 3, kKernels),
                    Catch::StartsWith("device cuda:3: no such device: "));
  quantizers::ColumnLoop<float, float> loop{};
  loop.block = 1;
  CHECK_THROWS_WITH(cuda::run_on_gpu(quantizers::kColumnsFloatFloat, loop, 0, kKernels),
                    Catch::StartsWith("device cuda:0: no such device: "));
  quantizers::ColumnLoop<float, double, quantizers::FormatNumbers> formats{};
  formats.block = 1;
  CHECK_THROWS_WITH(cuda::run_on_gpu(quantizers::kColumnsToFormatFloatDouble, formats, 0, kKernels),
                    Catch::StartsWith("device cuda:0: no such device: "));
  for (const char* name :
       {quantizers::kColumnsToFormatFloatFloat, quantizers::kColumnsToFormatDoubleDouble,
        quantizers::kRoundToFormatFloat, quantizers::kRoundToFormatDouble,
        quantizers::kRoundScaledToFormatFloat, quantizers::kRoundScaledToFormatDouble}) {
    CHECK(cuda::kernel_function(kKernels, name) != nullptr);
  }
}

TEST_CASE("kernels: a build without them and a foreign library are named in one line",
          "[quantizers][cuda]") {
  const TemporaryDir folder;
  const auto absent = folder.path() / "kernels.so";
  CHECK_THROWS_WITH(cuda::kernel_function(absent, "f"),
                    absent.string() +
                        " is not there: this build has no kernels for GPUs "
                        "(docs/gpu.md)");
  CHECK_THROWS_WITH(cuda::kernel_function(folder.path() / "graphs.so", "f"),
                    Catch::EndsWith(" is not there: this build has no graphs for GPUs "
                                    "(docs/gpu.md)"));
  std::ofstream(absent) << "no library";
  CHECK_THROWS_WITH(
      cuda::kernel_function(absent, "f"),
      Catch::StartsWith("the kernels for GPUs: ") && Catch::Contains(absent.string()));
  CHECK_THROWS_WITH(cuda::kernel_function("/proc/self/exe", "quench_no_such_kernel"),
                    Catch::StartsWith("the kernels for GPUs: "));
}

TEST_CASE("libtorch: its part for GPUs is known to it when it is loaded first",
          "[quantizers][cuda]") {
  load_gpu_part_or_skip();
  CHECK(at::globalContext().hasCuSOLVER());  // without that part libtorch says no
}

TEST_CASE("kernels: on a GPU the column loop has the bits of its host form",
          "[quantizers][gptq][cuda]") {
  const at::Device gpu = gpu_or_skip();
  const auto type = GENERATE(at::kFloat, at::kDouble);
  const bool float64 = GENERATE(false, true);
  for (ColumnLoopLayer layer : column_loop_layers()) {
    if (uses_pow(layer.options.kind)) {
      continue;
    }
    INFO(layer.name);
    layer.options.float64 = float64;
    const SolvedLayer wanted = solved_by_kernels(layer, type, at::kCPU);
    const SolvedLayer got = solved_by_kernels(layer, type, gpu);
    CHECK(differences(got.codes, wanted.codes) == "");
    CHECK(differences(got.scales, wanted.scales) == "");
    CHECK(differences(got.zeros, wanted.zeros) == "");
    CHECK(got.loss == wanted.loss);
    CHECK(dequantized_by_kernels(layer, type, gpu).equal(dequantized_from(wanted, layer, type)));
  }
}

TEST_CASE("kernels: on a GPU rounding has the bits of its host form", "[quantizers][rtn][cuda]") {
  const at::Device gpu = gpu_or_skip();
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    if (uses_pow(layer.options.kind)) {
      continue;
    }
    INFO(layer.name);
    const auto shape = {layer.weight.rows, layer.weight.columns};
    const at::Tensor weight =
        at::from_blob(const_cast<double*>(layer.weight.values.data()), shape, at::kDouble);
    const quantizers::Groups groups =
        quantizers::groups_of(layer.weight.columns, layer.options.group_size);
    const quantizers::CodedStorage wanted(layer.weight.rows, layer.weight.columns, groups);
    const quantizers::CodedStorage got(layer.weight.rows, layer.weight.columns, groups);
    quantizers::round_rows_by_kernel(weight, groups, layer.options.kind, wanted.view());
    quantizers::round_rows_by_kernel(weight.to(gpu), groups, layer.options.kind, got.view());
    CHECK(differences(got.view().codes, wanted.view().codes) == "");
    CHECK(differences(got.view().scales, wanted.view().scales) == "");
    CHECK(differences(got.view().zeros, wanted.view().zeros) == "");
  }
}

TEST_CASE("kernels: on a GPU rounding to a number format has the bits of its host form",
          "[quantizers][rtn][number_formats][cuda]") {
  const at::Device gpu = gpu_or_skip();
  const auto type = GENERATE(at::kFloat, at::kDouble);
  const int64_t columns = 96;
  const Matrix values = random_matrix(20, columns, 8);
  const at::Tensor weight =
      at::from_blob(const_cast<double*>(values.values.data()), {values.rows, columns}, at::kDouble)
          .to(type);
  for (const auto& [format, rule] : formats_of_kernels()) {
    INFO(format->name << ", rule " << static_cast<int>(rule));
    const int64_t size = format->block > 0 ? format->block : columns;
    const quantizers::Groups groups{size, columns / size};
    const double tensor_scale = quantizers::tensor_scale_of(*format, weight);
    const quantizers::CodedThere wanted =
        quantizers::round_to_format_there(weight, *format, rule, tensor_scale, groups);
    const quantizers::CodedThere got =
        quantizers::round_to_format_there(weight.to(gpu), *format, rule, tensor_scale, groups);
    CHECK(got.codes.cpu().equal(wanted.codes));
    CHECK(got.scales.cpu().equal(wanted.scales));
  }
}

TEST_CASE("kernels: on a GPU the column loop to a number format has the bits of its host form",
          "[quantizers][gptq][number_formats][cuda]") {
  const at::Device gpu = gpu_or_skip();
  const auto type = GENERATE(at::kFloat, at::kDouble);
  const bool float64 = GENERATE(false, true);
  for (const auto& [format, rule] : formats_of_kernels()) {
    for (ColumnLoopLayer layer : column_loop_layers()) {
      INFO(layer.name << ", " << format->name << ", rule " << static_cast<int>(rule));
      layer.options.float64 = float64;
      layer.options.format = format;
      layer.options.tensor_scale = format->tensor_scale_of(4);
      layer.options.kind.mse = rule == number_formats::ScaleRule::kLeastSquares ? 2 : 0;
      const quantizers::SolvedThere wanted = solved_to_format(layer, type, at::kCPU);
      const quantizers::SolvedThere got = solved_to_format(layer, type, gpu);
      CHECK(got.coded.codes.cpu().equal(wanted.coded.codes));
      CHECK(got.coded.scales.cpu().equal(wanted.coded.scales));
      CHECK(got.loss == wanted.loss);
    }
  }
}

}  // namespace quench::test
