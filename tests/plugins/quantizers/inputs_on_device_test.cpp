// Rounding of inputs by kernels, held to the bits of the loops for processors: in host memory,
// where the kernels are loops, too, and on a GPU where there is one.
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "quantizers/inputs/device/entries.hpp"
#include "quantizers/inputs/rounded_linear.hpp"
#include "quench/kit/error.hpp"
#include "shared/cuda/library.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test::inputs_on_device {

namespace {

using quantizers::ActivationSettings;
using quantizers::InputRounding;
using quantizers::InputStatistics;

bool agree(const ActivationSettings& settings) {
  try {
    quantizers::check_activations("test", settings, {});
    return true;
  } catch (const kit::Error&) {
    return false;
  }
}

// Every format with every range that it can have.
std::vector<ActivationSettings> all_settings(int64_t group_size) {
  std::vector<ActivationSettings> out;
  std::istringstream formats(quantizers::activation_choices());
  for (std::string format; std::getline(formats, format, '|');) {
    for (const char* per : {"token", "group", "tensor"}) {
      for (const char* range : {"dynamic", "max", "percentile"}) {
        for (const bool sym : {true, false}) {
          for (const int64_t keep : {0, 3}) {
            const ActivationSettings made{format, sym, per, group_size, range, 99, keep, 0};
            if (made.rounds() && agree(made)) {
              out.push_back(made);
            }
          }
        }
      }
    }
  }
  return out;
}

std::string text_of(const ActivationSettings& settings) {
  return settings.activations + (settings.activation_sym ? " " : " asymmetric ") +
         settings.activation_per + " " + settings.activation_range +
         (settings.activation_keep > 0 ? " keeps columns" : "");
}

// Rows of a layer; with `odd` rows of zeros of both signs, of one value, of subnormal numbers, of
// ties, of one number alone, of many binades and of numbers near the largest, too.
template <typename T>
at::Tensor rows_of(int64_t rows, int64_t columns, bool odd) {
  const Matrix layer = random_matrix(rows, columns, 7, true);
  std::vector<T> values(layer.values.begin(), layer.values.end());
  const auto fill = [&](int64_t row, const auto& value) {
    for (int64_t c = 0; c < columns && odd; ++c) {
      values[static_cast<size_t>(row * columns + c)] = static_cast<T>(value(c));
    }
  };
  fill(0, [](int64_t c) { return c % 3 == 0 ? -0.0 : 0.0; });
  fill(1, [](int64_t) { return 3.25; });
  fill(2,
       [](int64_t c) { return static_cast<T>(c % 7 - 3) * std::numeric_limits<T>::denorm_min(); });
  fill(3, [](int64_t c) { return 0.25 * static_cast<double>(c % 61 - 30); });
  fill(4, [](int64_t c) { return c == 5 ? -1e-3 : 0; });
  fill(5, [](int64_t c) { return std::ldexp(c % 2 == 0 ? 1.1 : -1.7, static_cast<int>(c % 40)); });
  // Of float64 the scale of a format may overflow in float32.
  fill(6, [](int64_t c) { return std::numeric_limits<float>::max() / static_cast<float>(4 + c); });
  return at::from_blob(values.data(), {rows, columns}, c10::CppTypeToScalarType<T>::value).clone();
}

std::vector<uint8_t> bytes_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU).contiguous();
  const auto* first = static_cast<const uint8_t*>(host.const_data_ptr());
  return {first, first + host.nbytes()};
}

InputRounding rounding_of(const ActivationSettings& settings, int64_t columns) {
  InputStatistics statistics(columns, settings);
  statistics.observe(rows_of<float>(50, columns, false));
  return {settings, columns, &statistics, {}, "a.b"};
}

template <typename T>
void check_bits(at::Device device, int64_t rows, int64_t columns, int64_t group_size) {
  for (const ActivationSettings& settings : all_settings(group_size)) {
    CAPTURE(text_of(settings), columns);
    std::optional<InputRounding> rounding;
    try {
      rounding.emplace(rounding_of(settings, columns));
    } catch (const kit::Error&) {  // blocks do not divide the columns
      continue;
    }
    for (const bool odd : {false, true}) {
      const at::Tensor wanted = rows_of<T>(rows, columns, odd);
      const at::Tensor got = wanted.clone().to(device);
      rounding->round(wanted);
      CHECK(rounding->round_there(got));
      CHECK(differences(bytes_of(got), bytes_of(wanted)) == "");
      CHECK(bytes_of(got) != bytes_of(rows_of<T>(rows, columns, odd)));
    }
  }
}

void check_bits_on(at::Device device) {
  linked_item();  // installs the host
  check_bits<float>(device, 37, 96, 32);
  check_bits<double>(device, 37, 96, 32);
  check_bits<float>(device, 9, 133, 19);  // neither warps nor blocks of a kernel divide it
  check_bits<double>(device, 9, 133, 133);
  CHECK(all_settings(32).size() > 180);
}

// The value that is not finite stays in float in one case, and the range is what overflows in
// another.
void check_refusals_on(at::Device device) {
  linked_item();
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const int64_t keep : {0, 96}) {
      ActivationSettings settings;
      settings.activations = "int8";
      settings.activation_keep = keep;
      const at::Tensor rows = rows_of<float>(20, 96, false);
      rows[17][5] = bad;
      CHECK_FALSE(rounding_of(settings, 96).round_there(rows.to(device, at::kFloat, false, true)));
    }
  }
  ActivationSettings settings;
  settings.activations = "int8";
  const at::Tensor rows = rows_of<double>(20, 96, false);
  rows[3][5] = 1.7e308;
  rows[3][6] = -1.7e308;
  CHECK_FALSE(rounding_of(settings, 96).round_there(rows.to(device, at::kDouble, false, true)));
  CHECK_THROWS_WITH(rounding_of(settings, 96).round(rows),
                    "a.b: input: the range of row 3 overflows");
}

void check_op_on(at::Device device) {
  linked_item();
  ActivationSettings settings;
  settings.activations = "int4";
  std::vector<double> scale(96);
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] = 0.3 + 0.01 * static_cast<double>(c);
  }
  // Products with 1 and sums with 0 are exact in any order.
  const quantizers::RoundedLinear op(at::eye(96), scale, rounding_of(settings, 96));
  const quantizers::RoundedLinear there(at::eye(96).to(device), scale, rounding_of(settings, 96));
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor x = rows_of<float>(40, 96, true).to(type);
    const at::Tensor wanted = at::empty({40, 96}, x.options());
    op.apply(x, wanted);
    std::optional<matrix::LibtorchAlone> as_on_a_gpu;
    if (device.is_cpu()) {
      as_on_a_gpu.emplace();
    }
    const at::Tensor got = at::empty({40, 96}, x.options().device(device));
    there.apply(x.to(device), got);
    CHECK(got.to(at::kCPU).equal(wanted));
    there.apply(x.narrow(0, 0, 0).to(device), got.narrow(0, 0, 0));
    x[1][5] = std::nan("");
    CHECK_THROWS_WITH(there.apply(x.to(device), got), "a.b: input: row 1, column 5 is nan");
  }
}

}  // namespace

TEST_CASE("inputs on a device: kernels round to the bits of the loops for processors",
          "[quantizers][activations][on_device]") {
  check_bits_on(at::kCPU);
}

TEST_CASE("inputs on a device: what the loops refuse is noticed",
          "[quantizers][activations][on_device]") {
  check_refusals_on(at::kCPU);
}

TEST_CASE("inputs on a device: an op rounds there, divides before it, and refuses as the host does",
          "[quantizers][activations][on_device]") {
  check_op_on(at::kCPU);
}

TEST_CASE("kernels: the library has those that round inputs", "[quantizers][cuda]") {
  const auto kernels = binary_dir() / "lib/quench/cuda/kernels.so";
  skip_unless(std::filesystem::exists(kernels), "this build has no kernels for GPUs: no nvcc");
  for (const char* name : {quantizers::kInputRangesFloat, quantizers::kInputRangesDouble,
                           quantizers::kRoundInputsFloat, quantizers::kRoundInputsDouble}) {
    CAPTURE(name);
    CHECK(cuda::kernel_function(kernels, name) != nullptr);
  }
}

TEST_CASE("kernels: on a GPU rounding of inputs has the bits of the loops for processors",
          "[quantizers][activations][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_bits_on(gpu);
  check_refusals_on(gpu);
  check_op_on(gpu);
}

}  // namespace quench::test::inputs_on_device
