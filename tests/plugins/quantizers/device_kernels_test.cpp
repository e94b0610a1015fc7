// The kernels of awq, hqq, the 4-bit types, int8 and noise as nvcc made them, called as the plugins
// call them. What their host forms compute is tested beside each plugin.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "quantizers/awq/device/entries.hpp"
#include "quantizers/codebook/device/entries.hpp"
#include "quantizers/gram/squares_entries.hpp"
#include "quantizers/hqq/device/entries.hpp"
#include "quantizers/int8/device/entries.hpp"
#include "quantizers/noise/device/entries.hpp"
#include "shared/cuda/run_kernel.hpp"
#include "tests/plugins/quantizers/matrix.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test {

namespace {

using quantizers::GridRule;

constexpr int64_t kRows = 37;
constexpr int64_t kColumns = 133;
constexpr int64_t kGroupSize = 50;
constexpr int64_t kGroups = 3;

at::Tensor layer(at::ScalarType type) {
  const Matrix values = random_matrix(kRows, kColumns, 9);
  return at::from_blob(const_cast<double*>(values.values.data()), {kRows, kColumns}, at::kDouble)
      .to(type)
      .clone();
}

// Both tensors' elements, to the bit.
void check_same(const at::Tensor& got, const at::Tensor& wanted) {
  const auto bytes = [](const at::Tensor& tensor) {
    const at::Tensor host = tensor.to(at::kCPU).contiguous();
    const auto* first = static_cast<const uint8_t*>(host.const_data_ptr());
    return std::vector<uint8_t>(first, first + host.nbytes());
  };
  CHECK(differences(bytes(got), bytes(wanted)) == "");
}

// Runs what `run` computes on both, and holds the GPU's results against the host's.
template <typename Run>
void check_on(at::Device gpu, const Run& run) {
  const std::vector<at::Tensor> wanted = run(at::Device(at::kCPU));
  const std::vector<at::Tensor> got = run(gpu);
  for (size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    check_same(got[i], wanted[i]);
  }
}

template <typename T, typename Numbers>
std::vector<at::Tensor> round_scaled(at::Device device, at::ScalarType type, const Numbers& numbers,
                                     const char* entry) {
  const at::Tensor weight = layer(type).to(device);
  const auto made = [&](int64_t columns, at::ScalarType of) {
    return at::empty({kRows, columns}, weight.options().dtype(of));
  };
  const at::Tensor scale = at::zeros({kColumns}, weight.options().dtype(at::kDouble)).add(1.37);
  const at::Tensor errors = made(kColumns, at::kFloat);
  const at::Tensor codes = made(kColumns, at::kByte);
  const at::Tensor scales = made(kGroups, at::kDouble);
  const at::Tensor zeros = made(kGroups, at::kDouble);
  const at::Tensor largest = made(kGroups, at::kDouble);
  const at::Tensor sums = at::zeros({2, kColumns}, scale.options());
  cuda::run_kernel(entry,
                   quantizers::RoundScaled<T, Numbers>{
                       weight.const_data_ptr<T>(), kRows, kColumns, kGroupSize, kGroups, numbers,
                       scale.const_data_ptr<double>(), nullptr, 0.8, errors.data_ptr<float>(),
                       codes.data_ptr<uint8_t>(), scales.data_ptr<double>(),
                       zeros.data_ptr<double>(), largest.data_ptr<double>()},
                   device);
  const bool wide = type == at::kDouble;
  cuda::run_kernel(
      wide ? quantizers::kAddMagnitudesDouble : quantizers::kAddMagnitudesFloat,
      quantizers::AddMagnitudes<T>{weight.const_data_ptr<T>(), kRows, kColumns,
                                   largest.const_data_ptr<double>(), sums.data_ptr<double>()},
      device);
  cuda::run_kernel(wide ? quantizers::kAddRelativeDouble : quantizers::kAddRelativeFloat,
                   quantizers::AddRelativeMagnitudes<T>{
                       weight.const_data_ptr<T>(), kRows, kColumns, kGroupSize, kGroups,
                       largest.const_data_ptr<double>(), 1e-6, sums.data_ptr<double>() + kColumns},
                   device);
  return {errors, codes, scales, zeros, largest, sums};
}

template <typename T>
std::vector<at::Tensor> solve_rows(at::Device device, at::ScalarType type, const char* entry) {
  const at::Tensor weight = layer(type).to(device);
  const at::Tensor codes = at::empty({kRows, kColumns}, weight.options().dtype(at::kByte));
  const at::Tensor scales = at::empty({kRows, kGroups}, weight.options().dtype(at::kDouble));
  const at::Tensor zeros = at::empty({kRows, kGroups}, scales.options());
  // With the exponent 1 pow() is given the power 0, which is exact everywhere.
  cuda::run_kernel(entry,
                   quantizers::SolveRows<T>{weight.const_data_ptr<T>(),
                                            kRows,
                                            kColumns,
                                            kGroupSize,
                                            kGroups,
                                            3,
                                            {1, 10, 1.01, 20},
                                            codes.data_ptr<uint8_t>(),
                                            scales.data_ptr<double>(),
                                            zeros.data_ptr<double>()},
                   device);
  return {codes, scales, zeros};
}

template <typename T>
std::vector<at::Tensor> code_blocks(at::Device device, at::ScalarType type, const char* entry) {
  const at::Tensor weight = layer(type).to(device);
  const at::Tensor codes = at::empty({weight.numel()}, weight.options().dtype(at::kByte));
  const at::Tensor maxima =
      at::empty({(weight.numel() + 63) / 64}, weight.options().dtype(at::kFloat));
  const quantizers::LevelSearch search({-1, -0.7F, -0.5F, -0.2F, 0, 0.1F, 0.3F, 0.6F, 1});
  cuda::run_kernel(entry,
                   quantizers::CodeBlocks<T>{weight.const_data_ptr<T>(), weight.numel(), 64, search,
                                             maxima.data_ptr<float>(), codes.data_ptr<uint8_t>()},
                   device);
  return {codes, maxima};
}

template <typename T>
std::vector<at::Tensor> code_and_decode(at::Device device, at::ScalarType to, const char* entry) {
  const at::Tensor values = layer(at::kFloat).to(device);
  const at::Tensor codes = at::zeros({kRows, 136}, values.options().dtype(at::kChar));
  const at::Tensor maxima = at::empty({kRows}, values.options());
  cuda::run_kernel(
      quantizers::kInt8CodeRows,
      quantizers::CodeRows{values.const_data_ptr<float>(), kRows, kColumns, 136, 2.5F, nullptr,
                           codes.data_ptr<int8_t>(), maxima.data_ptr<float>()},
      device);
  const at::Tensor sums = codes.to(at::kInt).mul(1000);
  const at::Tensor columns = values.select(0, 0).abs().contiguous();
  const at::Tensor out = at::empty({kRows, kColumns}, values.options().dtype(to));
  cuda::run_kernel(
      entry,
      quantizers::DecodeSums<T>{sums.const_data_ptr<int32_t>(), kRows, kColumns, 136,
                                maxima.const_data_ptr<float>(), columns.const_data_ptr<float>(),
                                out.template data_ptr<T>()},
      device);
  return {codes, maxima, out};
}

template <typename T>
std::vector<at::Tensor> column_squares(at::Device device, at::ScalarType type, const char* entry) {
  const at::Tensor values = layer(type).to(device);
  const at::Tensor sums = at::empty({kColumns}, values.options().dtype(at::kDouble));
  cuda::run_kernel(entry,
                   quantizers::ColumnSquares<T>{values.const_data_ptr<T>(), kRows, kColumns,
                                                sums.data_ptr<double>()},
                   device);
  return {sums};
}

template <typename T>
std::vector<at::Tensor> add_noise(at::Device device, at::ScalarType type, const char* entry) {
  const at::Tensor weight = layer(type).to(device);
  const at::Tensor noise = layer(at::kDouble).mul(0.3).to(device);
  const at::Tensor codes = weight.mul(7).add(8).clamp(0, 15).to(at::kByte);
  const at::Tensor scales = at::zeros({kRows, kGroups}, noise.options()).add(1.0 / 7);
  const at::Tensor zeros = at::zeros({kRows, kGroups}, noise.options()).add(8);
  const at::Tensor out = at::empty_like(weight);
  cuda::run_kernel(
      entry,
      quantizers::AddNoise<T>{weight.const_data_ptr<T>(), kRows, kColumns, kGroupSize, kGroups,
                              codes.const_data_ptr<uint8_t>(), scales.const_data_ptr<double>(),
                              zeros.const_data_ptr<double>(), noise.const_data_ptr<double>(), 1.5,
                              out.data_ptr<T>()},
      device);
  return {out};
}

}  // namespace

TEST_CASE("kernels: the library has each function that a plugin asks for", "[quantizers][cuda]") {
  const std::filesystem::path kernels = binary_dir() / "lib/quench/cuda/kernels.so";
  skip_unless(std::filesystem::exists(kernels), "this build has no kernels for GPUs: no nvcc");
  for (const char* name :
       {quantizers::kRoundScaledFloat, quantizers::kRoundScaledDouble,
        quantizers::kAddMagnitudesFloat, quantizers::kAddMagnitudesDouble,
        quantizers::kAddRelativeFloat, quantizers::kAddRelativeDouble, quantizers::kSolveRowsFloat,
        quantizers::kSolveRowsDouble, quantizers::kCodeBlocksFloat, quantizers::kCodeBlocksDouble,
        quantizers::kInt8CodeRows, quantizers::kInt8SumsToFloat, quantizers::kInt8SumsToDouble,
        quantizers::kColumnSquaresFloat, quantizers::kColumnSquaresDouble,
        quantizers::kAddNoiseFloat, quantizers::kAddNoiseDouble}) {
    CAPTURE(name);
    CHECK(cuda::kernel_function(kernels, name) != nullptr);
  }
  CHECK(std::filesystem::equivalent(cuda::kernels_file(), kernels));  // as the tests below need
}

TEST_CASE("kernels: on a GPU rounding of scaled weights has the bits of its host form",
          "[quantizers][awq][cuda]") {
  const at::Device gpu = gpu_or_skip();
  for (const GridRule rule : {GridRule::kWidened, GridRule::kTight, GridRule::kCompressed}) {
    const quantizers::RuledNumbers numbers{{3, false}, rule};
    check_on(gpu, [&](at::Device device) {
      return round_scaled<float>(device, at::kFloat, numbers, quantizers::kRoundScaledFloat);
    });
    check_on(gpu, [&](at::Device device) {
      return round_scaled<double>(device, at::kDouble, numbers, quantizers::kRoundScaledDouble);
    });
  }
  for (const number_formats::NumberFormat& format : number_formats::number_formats()) {
    for (const auto rule :
         {number_formats::ScaleRule::kOfFormat, number_formats::ScaleRule::kLeastSquares}) {
      if (!quantizers::finds_scales_by_kernel(format, rule)) {
        continue;
      }
      CAPTURE(format.name, static_cast<int>(rule));
      const quantizers::FormatNumbers numbers{format, rule, format.tensor_scale_of(4)};
      check_on(gpu, [&](at::Device device) {
        return round_scaled<float>(device, at::kFloat, numbers,
                                   quantizers::kRoundScaledToFormatFloat);
      });
      check_on(gpu, [&](at::Device device) {
        return round_scaled<double>(device, at::kDouble, numbers,
                                    quantizers::kRoundScaledToFormatDouble);
      });
    }
  }
}

TEST_CASE("kernels: on a GPU rounding by the half-quadratic solver has the bits of its host form",
          "[quantizers][hqq][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_on(gpu, [](at::Device device) {
    return solve_rows<float>(device, at::kFloat, quantizers::kSolveRowsFloat);
  });
  check_on(gpu, [](at::Device device) {
    return solve_rows<double>(device, at::kDouble, quantizers::kSolveRowsDouble);
  });
}

TEST_CASE("kernels: on a GPU rounding of blocks to levels has the bits of its host form",
          "[quantizers][nf4][fp4][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_on(gpu, [](at::Device device) {
    return code_blocks<float>(device, at::kFloat, quantizers::kCodeBlocksFloat);
  });
  check_on(gpu, [](at::Device device) {
    return code_blocks<double>(device, at::kDouble, quantizers::kCodeBlocksDouble);
  });
}

TEST_CASE("kernels: on a GPU rounding of rows to int8 has the bits of its host form",
          "[quantizers][int8][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_on(gpu, [](at::Device device) {
    return code_and_decode<float>(device, at::kFloat, quantizers::kInt8SumsToFloat);
  });
  check_on(gpu, [](at::Device device) {
    return code_and_decode<double>(device, at::kDouble, quantizers::kInt8SumsToDouble);
  });
}

TEST_CASE("kernels: on a GPU sums of squares have the bits of their host form",
          "[quantizers][int8][awq][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_on(gpu, [](at::Device device) {
    return column_squares<float>(device, at::kFloat, quantizers::kColumnSquaresFloat);
  });
  check_on(gpu, [](at::Device device) {
    return column_squares<double>(device, at::kDouble, quantizers::kColumnSquaresDouble);
  });
}

TEST_CASE("kernels: on a GPU noise is added with the bits of its host form",
          "[quantizers][noise][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_on(gpu, [](at::Device device) {
    return add_noise<float>(device, at::kFloat, quantizers::kAddNoiseFloat);
  });
  check_on(gpu, [](at::Device device) {
    return add_noise<double>(device, at::kDouble, quantizers::kAddNoiseDouble);
  });
}

}  // namespace quench::test
