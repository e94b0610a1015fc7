// int8 as it computes on a GPU, on tensors in host memory: its kernels as loops, and libtorch's
// products, held against what it does for a processor.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <string>

#include "quantizers/int8/device/entries.hpp"
#include "quantizers/int8/device/linear_on_device.hpp"
#include "quantizers/int8/linear.hpp"
#include "quantizers/int8/product.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using quantizers::Int8Linear;
using quantizers::Int8Options;
using quantizers::LinearOnDevice;
using quantizers::Outliers;
using quantizers::OutlierScope;

// Products of outliers are float32 and added in another order: 6e-8 of their magnitudes, which are
// a few times the outputs'.
constexpr double kOutliers = 2e-6;

at::Tensor input_tensor(const Matrix& m, at::ScalarType type = at::kFloat) {
  linked_item();  // installs the host
  return at::from_blob(const_cast<double*>(m.values.data()), {m.rows, m.columns}, at::kDouble)
      .to(type)
      .clone();
}

// Rows of a layer, a row of zeros, a subnormal one, and large values in two columns of some.
Matrix inputs(int64_t rows, int64_t columns) {
  Matrix x = random_matrix(rows, columns, 2);
  for (int64_t c = 0; c < columns; ++c) {
    x(rows / 2, c) = 0;
    x(rows / 3, c) = 1e-42 * static_cast<double>(c % 7);
  }
  for (int64_t r = 0; r < rows; r += 5) {
    x(r, columns / 2) = 30;
    x(r, columns - 1) = -9;
  }
  return x;
}

template <typename T>
std::vector<T> values_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  return {dense.const_data_ptr<T>(), dense.const_data_ptr<T>() + dense.numel()};
}

at::Tensor applied(const quantizers::CodedLinear& linear, const at::Tensor& x, int64_t columns) {
  at::Tensor y = at::empty({x.size(0), columns}, x.options());
  linear.apply(x, y);
  return y;
}

}  // namespace

TEST_CASE("int8 on a device: libtorch's sums are the plain loop's, exactly",
          "[quantizers][int8][cuda]") {
  std::mt19937 random(3);
  for (const auto& [rows, columns, inner] :
       {std::array<int64_t, 3>{24, 8, 8}, {17, 96, 200}, {70, 16, 4096}}) {
    CAPTURE(rows, columns, inner);
    const auto codes = [&](int64_t count, bool extreme) {
      std::vector<int8_t> out(static_cast<size_t>(count));
      for (int8_t& code : out) {
        code = extreme ? 127 : static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
      }
      return out;
    };
    for (const bool extreme : {false, true}) {
      std::vector<int8_t> a = codes(rows * inner, extreme);
      std::vector<int8_t> b = codes(columns * inner, extreme);
      std::vector<int32_t> wanted(static_cast<size_t>(rows * columns));
      quantizers::multiply_plain(a, b, inner, [&](int64_t row, std::span<const int32_t> sums) {
        std::copy(sums.begin(), sums.end(), wanted.begin() + row * columns);
      });
      const at::Tensor sums =
          quantizers::int8_product(at::from_blob(a.data(), {rows, inner}, at::kChar),
                                   at::from_blob(b.data(), {columns, inner}, at::kChar));
      CHECK(differences(values_of<int32_t>(sums), wanted) == "");
    }
  }
}

TEST_CASE("int8 on a device: codes and maxima of rows have the bits of the plain loop",
          "[quantizers][int8][cuda]") {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{19, 93}, {1, 8}, {40, 64}}) {
    const at::Tensor x = input_tensor(inputs(rows, columns));
    for (const double threshold : {0.0, 6.0, 1e-30}) {
      CAPTURE(rows, columns, threshold);
      const auto wanted =
          quantizers::code_rows({x.const_data_ptr<float>(), static_cast<size_t>(x.numel())},
                                columns, {threshold, OutlierScope::kBatch}, "x");
      const std::unique_ptr<bool[]> outlier(new bool[static_cast<size_t>(columns)]());
      for (const int64_t c : wanted.outlier_columns) {
        outlier[static_cast<size_t>(c)] = true;
      }
      for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
        std::vector<int8_t> codes(static_cast<size_t>(rows * columns), 99);
        std::vector<float> maxima(static_cast<size_t>(rows));
        const quantizers::CodeRows kernel{x.const_data_ptr<float>(),
                                          rows,
                                          columns,
                                          columns,
                                          threshold > 0 ? static_cast<float>(threshold) : HUGE_VALF,
                                          outlier.get(),
                                          codes.data(),
                                          maxima.data()};
        cuda::run_on_host(kernel, kernel.blocks(), order);
        CHECK(differences(codes, wanted.rows.codes) == "");
        CHECK(differences(maxima, wanted.rows.maxima) == "");
      }
    }
  }
}

TEST_CASE("int8 on a device: the linear is the processor's", "[quantizers][int8][cuda]") {
  const auto type = GENERATE(at::kFloat, at::kDouble, at::kHalf, at::kBFloat16);
  const auto scope = GENERATE(OutlierScope::kBatch, OutlierScope::kRow);
  const double threshold = GENERATE(0.0, 6.0);
  const bool half = type != at::kFloat;
  const Int8Options options{{threshold, scope}, half};
  // Sizes that the product's rules do not allow are padded.
  for (const auto& [out, in] : {std::pair<int64_t, int64_t>{24, 96}, {21, 93}, {1, 5}}) {
    const at::Tensor weight = input_tensor(random_matrix(out, in, 1));
    const Int8Linear host(weight, options, "w");
    const LinearOnDevice device(weight, options, "w");
    CHECK(differences(device.weight().codes, host.weight().codes) == "");
    CHECK(differences(device.weight().maxima, host.weight().maxima) == "");
    CHECK(device.weight().columns == in);
    CHECK(differences(values_of<float>(device.decoded()), values_of<float>(host.decoded())) == "");
    for (const int64_t rows : {int64_t{1}, int64_t{17}, int64_t{70}}) {
      CAPTURE(out, in, rows, threshold, at::toString(type));
      const at::Tensor x = input_tensor(inputs(rows, in), type);
      const at::Tensor wanted = applied(host, x, out).to(at::kDouble);
      const at::Tensor got = [&] {
        const matrix::LibtorchAlone as_on_a_gpu;
        return applied(device, x, out).to(at::kDouble);
      }();
      CHECK(device.outlier_columns() == host.outlier_columns());
      CHECK((host.outlier_columns() > 0) == (threshold > 0));
      // A 16-bit output may round the other way where the float32 one moved.
      const double off = threshold == 0 ? 0 : half && type != at::kDouble ? 8e-3 : kOutliers;
      CHECK(got.sub(wanted).abs().max().item<double>() <= off * wanted.abs().max().item<double>());
      const at::Tensor told = at::empty_like(x);
      host.inputs(x, told);
      const at::Tensor told_there = at::empty_like(x);
      const matrix::LibtorchAlone as_on_a_gpu;
      device.inputs(x, told_there);
      CHECK(told_there.equal(told));
    }
    const at::Tensor none = at::empty({0, in}, at::TensorOptions(type));
    CHECK(applied(device, none, out).size(0) == 0);
  }
}

TEST_CASE("int8 on a device: a value that is not finite is named as on a processor",
          "[quantizers][int8][cuda]") {
  Matrix x = random_matrix(3, 16, 1);
  x(2, 5) = 1e6;  // beyond float16
  const at::Tensor large = input_tensor(x);
  const Int8Options options{{6, OutlierScope::kBatch}, true};
  CHECK_THROWS_WITH(LinearOnDevice(large, options, "w"),
                    "w: weight, as float16: row 2, column 5 is inf");
  const LinearOnDevice linear(input_tensor(random_matrix(4, 16, 2)), options, "w");
  CHECK_THROWS_WITH(applied(linear, large, 4), "w: input, as float16: row 2, column 5 is inf");
}

TEST_CASE("int8 on a device: a layer gets the processor's codes, weight and errors",
          "[quantizers][int8][cuda]") {
  const Matrix weight = random_matrix(21, 93, 1);
  const Matrix x = random_matrix(300, 93, 2, true);
  const bool float64 = GENERATE(false, true);
  const auto run = [&] {
    QuantizerBench bench(R"({"activations":false})", 93);
    REQUIRE(bench.observe(x, float64) == QUENCH_OK);
    return bench.quantize(weight, 0, float64);
  };
  const Quantized wanted = run();
  REQUIRE(wanted.error == "");
  const matrix::LibtorchAlone as_on_a_gpu;
  const Quantized got = run();
  REQUIRE(got.error == "");
  CHECK(differences(got.codes, wanted.codes) == "");
  CHECK(differences(got.scales, wanted.scales) == "");
  CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
  CHECK(got.numbers.at("weight_error") == Approx(wanted.numbers.at("weight_error")).epsilon(1e-5));
}

TEST_CASE("int8 on a device: an op needs no codes in the sink, and its errors are the processor's",
          "[quantizers][int8][cuda]") {
  const Matrix weight = random_matrix(21, 93, 1);
  const Matrix x = inputs(1100, 93);  // more rows than are compared
  const bool float64 = GENERATE(false, true);
  const double threshold = GENERATE(0.0, 6.0);
  CAPTURE(float64, threshold);
  const auto run = [&](bool codes) {
    QuantizerBench bench("{\"threshold\":" + std::to_string(threshold) + "}", 93);
    REQUIRE(bench.observe(x, float64) == QUENCH_OK);
    return codes ? bench.quantize(weight, 0, float64)
                 : bench.quantize_without_codes(weight, 0, float64);
  };
  const Quantized wanted = run(true);
  REQUIRE(wanted.error == "");
  const matrix::LibtorchAlone as_on_a_gpu;
  const Quantized got = run(false);
  REQUIRE(got.error == "");
  CHECK(wanted.codes.size() == weight.values.size());
  CHECK(wanted.numbers.at("activation_error") > 0);
  CHECK((wanted.numbers.at("outlier_columns") > 0) == (threshold > 0));
  CHECK(got.bytes.empty());
  CHECK(got.texts == wanted.texts);
  for (const auto& [name, value] : wanted.numbers) {
    CAPTURE(name);
    CHECK(got.numbers.at(name) == Approx(value).epsilon(1e-5));  // products of float32
  }
}

}  // namespace quench::test
