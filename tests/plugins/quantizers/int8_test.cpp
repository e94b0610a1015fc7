// Against the published operator, as it ran on a CPU: weight W, bias b, inputs X, outputs by
// threshold and dtype, and its parts (codes, factors, columns of outliers, int32 sums).
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <catch2/catch.hpp>

#include "quantizers/int8/linear.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

using quantizers::Int8Linear;
using quantizers::Int8Options;
using quantizers::OutlierScope;

constexpr const char* kFixture = "interchange/bitsandbytes/linear8bitlt.safetensors";

at::Tensor tensor_of(std::vector<float>& values, int64_t columns) {
  linked_item();  // installs the host
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  return at::from_blob(values.data(), {rows, columns}, at::TensorOptions(at::kFloat));
}

at::Tensor tensor_of(const Matrix& m) {
  std::vector<float> values(m.values.begin(), m.values.end());
  return tensor_of(values, m.columns).clone();
}

at::Tensor apply(const Int8Linear& linear, const at::Tensor& x) {
  at::Tensor y = at::empty({x.size(0), linear.decoded().size(0)}, x.options());
  linear.apply(x, y);
  return y;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b).abs().max().item<double>();
}

Int8Options options(double threshold, OutlierScope scope = OutlierScope::kBatch, bool half = true) {
  return {{threshold, scope}, half};
}

}  // namespace

TEST_CASE("int8 gives the published codes of weight and inputs", "[quantizers][int8]") {
  const auto path = fixture(kFixture);
  const SafetensorsFile file(path);
  std::vector<float> w = file.elements<float>("W");
  std::vector<float> x = file.elements<float>("X");
  const Int8Linear linear(tensor_of(w, 64), options(6), "w");
  CHECK(differences(linear.weight().codes, file.elements<int8_t>("CB")) == "");
  CHECK(differences(linear.weight().maxima, file.elements<float>("SCB")) == "");
  const at::Tensor half = tensor_of(x, 64).to(at::kHalf).to(at::kFloat);
  const std::span<const float> rows(half.const_data_ptr<float>(), x.size());
  for (const double threshold : {0.0, 6.0}) {
    const auto coded = quantizers::code_rows(rows, 64, {threshold, OutlierScope::kBatch}, "x");
    const std::string key = threshold > 0 ? "vq6." : "vq0.";
    CHECK(differences(coded.rows.codes, file.elements<int8_t>(key + "CA")) == "");
    CHECK(differences(coded.rows.maxima, file.elements<float>(key + "SCA")) == "");
    if (threshold > 0) {
      CHECK(differences(coded.outlier_columns, file.elements<int64_t>("vq6.outlier_cols")) == "");
    }
  }
}

// The operator's own factor for 1 / 127^2 is 2e-5 too large, relatively, which is the tolerance.
TEST_CASE("int8 gives the published operator's outputs", "[quantizers][int8]") {
  const auto path = fixture(kFixture);
  const SafetensorsFile file(path);
  std::vector<float> w = file.elements<float>("W");
  std::vector<float> x = file.elements<float>("X");
  std::vector<float> b = file.elements<float>("b");
  for (const double threshold : {0.0, 6.0}) {
    const Int8Linear linear(tensor_of(w, 64), options(threshold), "w");
    const at::Tensor y = apply(linear, tensor_of(x, 64)).add(tensor_of(b, 96));
    std::vector<float> expected =
        file.elements<float>(threshold > 0 ? "t6_float32.y" : "t0_float32.y");
    const at::Tensor wanted = tensor_of(expected, 96);
    CHECK(distance(y, wanted) < 4e-5 * wanted.abs().max().item<double>());
  }
}

TEST_CASE("int8 above every input is int8 without a threshold", "[quantizers][int8]") {
  const at::Tensor weight = tensor_of(random_matrix(24, 96, 1));
  const at::Tensor x = tensor_of(random_matrix(33, 96, 2));
  const Int8Linear plain(weight, options(0), "w");
  CHECK(distance(apply(plain, x), apply(Int8Linear(weight, options(1e30), "w"), x)) == 0);
}

TEST_CASE("int8 below every input is a product with the decoded weight", "[quantizers][int8]") {
  const at::Tensor weight = tensor_of(random_matrix(24, 96, 1));
  const at::Tensor x = tensor_of(random_matrix(33, 96, 2));
  for (const auto scope : {OutlierScope::kBatch, OutlierScope::kRow}) {
    const Int8Linear linear(weight, options(1e-30, scope), "w");
    const at::Tensor expected = at::mm(x, linear.decoded().t());
    CHECK(distance(apply(linear, x), expected) <= 1e-6 * expected.abs().max().item<double>());
  }
}

// Codes times codes, scaled, is what float64 makes of decoded rows and the decoded weight.
TEST_CASE("int8's sums are the product of what is decoded", "[quantizers][int8]") {
  const at::Tensor weight = tensor_of(random_matrix(24, 200, 1));
  const at::Tensor x = tensor_of(random_matrix(70, 200, 2));
  const Int8Linear linear(weight, options(0, OutlierScope::kBatch, false), "w");
  const auto coded = quantizers::code_rows(
      {x.const_data_ptr<float>(), static_cast<size_t>(x.numel())}, 200, {}, "x");
  at::Tensor decoded = at::empty({70, 200}, at::TensorOptions(at::kDouble));
  for (int64_t i = 0; i < decoded.numel(); ++i) {
    decoded.data_ptr<double>()[i] =
        coded.rows.codes[static_cast<size_t>(i)] *
        static_cast<double>(coded.rows.maxima[static_cast<size_t>(i / 200)]) / 127;
  }
  const at::Tensor y = apply(linear, x.to(at::kDouble));
  const at::Tensor expected = at::mm(decoded, linear.decoded().to(at::kDouble).t());
  CHECK(distance(y, expected) < 1e-6 * expected.abs().max().item<double>());
}

// Where nothing is coded inputs are told as they are; elsewhere as what their codes stand for.
TEST_CASE("int8 tells the inputs that it multiplies by the decoded weight", "[quantizers][int8]") {
  const at::Tensor weight = tensor_of(random_matrix(24, 96, 1));
  const at::Tensor x = tensor_of(random_matrix(33, 96, 2));
  x.narrow(0, 7, 1).narrow(1, 40, 3).fill_(-30);
  for (const auto scope : {OutlierScope::kBatch, OutlierScope::kRow}) {
    for (const double threshold : {0.0, 6.0, 1e-30}) {
      CAPTURE(scope, threshold);
      const Int8Linear linear(weight, options(threshold, scope, false), "w");
      for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf}) {
        const at::Tensor given = x.to(type);
        const at::Tensor inputs = at::empty_like(given);
        linear.inputs(given, inputs);
        const at::Tensor got = at::mm(inputs.to(at::kDouble), linear.decoded().to(at::kDouble).t());
        const double off = type == at::kHalf ? 2e-3 : 2e-6;
        CHECK(distance(apply(linear, given), got) < off * got.abs().max().item<double>());
        CHECK((distance(inputs, given) == 0) == (threshold == 1e-30));
        CHECK(distance(inputs, given) < 0.6 / 127 * given.abs().max().item<double>());
      }
    }
  }
}

TEST_CASE("int8 by row gives each row what it gets alone, and by batch it does not",
          "[quantizers][int8]") {
  const at::Tensor weight = tensor_of(random_matrix(24, 96, 1));
  at::Tensor x = tensor_of(random_matrix(40, 96, 2));
  x.narrow(0, 7, 1).mul_(10);  // outliers in many columns, of one row
  const auto alone = [&](const Int8Linear& linear, int64_t row) {
    return apply(linear, x.narrow(0, row, 1).contiguous());
  };
  const Int8Linear by_row(weight, options(6, OutlierScope::kRow), "w");
  const Int8Linear by_batch(weight, options(6), "w");
  CHECK(distance(apply(by_row, x).narrow(0, 3, 1), alone(by_row, 3)) == 0);
  CHECK(distance(apply(by_batch, x).narrow(0, 3, 1), alone(by_batch, 3)) > 0);
}

TEST_CASE("int8 of 16-bit inputs rounds the outputs once", "[quantizers][int8]") {
  const at::Tensor weight = tensor_of(random_matrix(24, 96, 1));
  const at::Tensor x = tensor_of(random_matrix(8, 96, 2)).to(at::kHalf);
  const Int8Linear linear(weight, options(2), "w");
  const at::Tensor y = apply(linear, x);
  CHECK(distance(y, apply(linear, x.to(at::kFloat)).to(at::kHalf)) == 0);
}

TEST_CASE("int8 reports the errors of weight and inputs apart", "[quantizers][int8]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  QuantizerBench bench(R"({"activations":false})", 96);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  const Quantized result = bench.quantize(weight);
  REQUIRE(result.error == "");
  CHECK(result.numbers.count("activation_error") == 0);
  const Int8Linear linear(tensor_of(weight), options(6), "w");
  const at::Tensor rows = tensor_of(x).to(at::kDouble);
  const at::Tensor off = tensor_of(weight).sub(linear.decoded()).to(at::kDouble);
  const double expected =
      at::mm(rows, off.t()).pow(2).sum().item<double>() /
      at::mm(rows, tensor_of(weight).to(at::kDouble).t()).pow(2).sum().item<double>();
  CHECK(result.numbers.at("weight_error") == Approx(expected).epsilon(1e-6));
  const Matrix decoded = result.decoded();
  for (size_t i = 0; i < decoded.values.size(); ++i) {
    CHECK(result.dequantized.values[i] == Approx(decoded.values[i]).epsilon(1e-6));
  }
}

}  // namespace quench::test
