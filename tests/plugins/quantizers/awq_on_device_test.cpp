// awq as it computes for rows on a GPU, on tensors in host memory: its kernels as loops, and
// libtorch's operations, held against what it does for a processor.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <type_traits>

#include "quantizers/awq/candidates.hpp"
#include "quantizers/awq/device/entries.hpp"
#include "quantizers/awq/device/objective_on_device.hpp"
#include "quantizers/awq/device/rounding_by_kernel.hpp"
#include "quantizers/awq/effective_weight.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using quantizers::GridRule;
using quantizers::Limits;
using quantizers::ScaledWeight;

// The host's products are float32: their rounding is 6e-8 of the magnitudes that are added.
constexpr double kProducts = 1e-5;

at::Tensor tensor_of(const Matrix& matrix, at::ScalarType type) {
  return at::from_blob(const_cast<double*>(matrix.values.data()), {matrix.rows, matrix.columns},
                       at::kDouble)
      .to(type)
      .clone();
}

std::span<const float> floats(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}
std::span<const double> doubles(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<double>(), static_cast<size_t>(tensor.numel())};
}

// Values of a layer, with a row of zeros, one of a single value, and groups of one sign.
Matrix odd_matrix(int64_t rows, int64_t columns) {
  Matrix out = random_matrix(rows, columns, 11);
  for (int64_t c = 0; c < columns; ++c) {
    out(0, c) = 0;
    out(1 % rows, c) = -3;
    out(2 % rows, c) = std::fabs(out(2 % rows, c)) + 0.5;
    out(3 % rows, c) = -std::fabs(out(3 % rows, c)) - 0.5;
  }
  return out;
}

std::vector<double> scale_for(int64_t columns) {
  std::vector<double> out;
  for (int64_t c = 0; c < columns; ++c) {
    out.push_back(std::exp2(std::sin(static_cast<double>(c)) * 3));
  }
  return out;
}

struct Case {
  ScaledWeight weight;
  std::vector<double> scale;
};

// Every rule, with and without symmetry, in groups that divide a row and ones that do not.
std::vector<Case> all_cases(at::ScalarType type) {
  std::vector<Case> out;
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{37, 133}, {9, 64}, {5, 1}}) {
    const at::Tensor weight = tensor_of(odd_matrix(rows, columns), type);
    for (const int64_t size : {int64_t{-1}, int64_t{32}, int64_t{50}}) {
      for (const GridRule rule : {GridRule::kWidened, GridRule::kTight, GridRule::kCompressed}) {
        for (const bool sym : {false, true}) {
          out.push_back({{weight,
                          rows,
                          columns,
                          {sym ? 4 : 3, sym},
                          quantizers::groups_of(columns, size),
                          rule},
                         scale_for(columns)});
        }
      }
    }
  }
  return out;
}

// Every number format that kernels know, also with the scales of the least squared error.
std::vector<Case> format_cases(at::ScalarType type) {
  std::vector<Case> out;
  const int64_t rows = 13;
  const int64_t columns = 96;
  const at::Tensor weight = tensor_of(odd_matrix(rows, columns), type);
  for (const number_formats::NumberFormat& format : number_formats::number_formats()) {
    for (const double mse : {0.0, 2.0}) {
      const quantizers::GridKind kind{4, true, mse};
      if (!quantizers::finds_scales_by_kernel(format, quantizers::scale_rule_of(kind))) {
        continue;
      }
      const int64_t size = format.block > 0 ? format.block : 48;
      out.push_back({{weight,
                      rows,
                      columns,
                      kind,
                      {size, columns / size},
                      GridRule::kWidened,
                      &format,
                      quantizers::column_magnitudes(weight)},
                     scale_for(columns)});
    }
  }
  return out;
}

std::string name_of(const ScaledWeight& weight) {
  return std::to_string(weight.rows) + " x " + std::to_string(weight.columns) + ", groups of " +
         std::to_string(weight.groups.size) + ", rule " +
         std::to_string(static_cast<int>(weight.rule)) + (weight.kind.sym ? ", symmetric" : "") +
         (weight.format != nullptr ? ", " + std::string(weight.format->name) : "") +
         (weight.kind.mse > 0 ? ", least squares" : "");
}

struct Codes {
  explicit Codes(const ScaledWeight& weight)
      : storage(weight.rows, weight.columns, weight.groups) {}
  quantizers::CodedStorage storage;
  void check_same_as(const Codes& other) const {
    CHECK(differences(storage.view().codes, other.storage.view().codes) == "");
    CHECK(differences(storage.view().scales, other.storage.view().scales) == "");
    CHECK(differences(storage.view().zeros, other.storage.view().zeros) == "");
  }
};

void check_rounding(const Case& given) {
  const ScaledWeight& weight = given.weight;
  INFO(name_of(weight));
  const quantizers::RoundingByKernel kernel(weight, given.scale);
  const Limits largest = quantizers::magnitudes(weight, given.scale);
  CHECK(differences(doubles(kernel.magnitudes()), largest) == "");
  Limits limits = largest;
  for (size_t i = 0; i < limits.size(); ++i) {
    limits[i] *= 1 - 0.1 * static_cast<double>(i % 5);
  }
  for (const Limits& some : {Limits{}, limits}) {
    Codes wanted(weight);
    quantizers::code_rows(weight, given.scale, some, wanted.storage.view());
    Codes got(weight);
    quantizers::take(kernel.code(some), got.storage.view());
    got.check_same_as(wanted);
    const int64_t first = weight.rows / 2;
    const int64_t count = weight.rows - first;
    std::vector<float> errors(static_cast<size_t>(count * weight.columns));
    quantizers::rounding_errors(weight, given.scale, some, first, count, errors.data());
    CHECK(differences(floats(kernel.errors(some, first, count)), errors) == "");
  }
  const at::Tensor clipped = kernel.clipped_errors(0.7, 0, weight.rows);
  for (int64_t g = 0; g < weight.groups.count; ++g) {
    const int64_t begin = g * weight.groups.size;
    const int64_t size = std::min(weight.groups.size, weight.columns - begin);
    std::vector<float> errors(static_cast<size_t>(weight.rows * size));
    quantizers::clipped_errors(weight, given.scale, g, 0.7, errors.data());
    CHECK(differences(floats(clipped.narrow(1, begin, size).contiguous()), errors) == "");
  }
}

// The kernel's two orders of threads, which a GPU may mix.
template <typename T, typename Numbers>
void check_orders_of(const Case& given, const Numbers& numbers) {
  const ScaledWeight& weight = given.weight;
  std::vector<float> errors[2];
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    std::vector<float>& own = errors[order == cuda::Order::kFirstToLast ? 0 : 1];
    own.resize(static_cast<size_t>(weight.weight.numel()));
    const quantizers::RoundScaled<T, Numbers> kernel{weight.weight.const_data_ptr<T>(),
                                                     weight.rows,
                                                     weight.columns,
                                                     weight.groups.size,
                                                     weight.groups.count,
                                                     numbers,
                                                     given.scale.data(),
                                                     nullptr,
                                                     0.9,
                                                     own.data(),
                                                     nullptr,
                                                     nullptr,
                                                     nullptr,
                                                     nullptr};
    cuda::run_on_host(kernel, kernel.blocks(), order);
  }
  CHECK(differences(errors[0], errors[1]) == "");
}

template <typename T>
void check_orders(const Case& given) {
  const ScaledWeight& weight = given.weight;
  if (weight.format == nullptr) {
    check_orders_of<T>(given, quantizers::RuledNumbers{weight.kind, weight.rule});
  } else {
    check_orders_of<T>(
        given, quantizers::FormatNumbers{*weight.format, quantizers::scale_rule_of(weight.kind),
                                         quantizers::tensor_scale_of(weight, given.scale)});
  }
}

at::Tensor gram_of(int64_t columns) {
  const Matrix x = random_matrix(64, columns, 5, true);
  return tensor_of(product(transposed(x), x), at::kDouble);
}

void check_objective(const Case& given) {
  const ScaledWeight& weight = given.weight;
  INFO(name_of(weight));
  const at::Tensor gram = gram_of(weight.columns);
  const auto host = quantizers::gram_objective(gram, weight);
  const auto device = quantizers::objective_on_device(gram);
  const double wanted = host->error(weight, given.scale, {});
  CHECK(device->error(weight, given.scale, {}) == Approx(wanted).epsilon(kProducts));
  const Limits limits = host->best_limits(weight, given.scale, 7, 10);
  const Limits found = device->best_limits(weight, given.scale, 7, 10);
  REQUIRE(found.size() == limits.size());
  // Where two clippings are equally good, each may choose another.
  CHECK(device->error(weight, given.scale, found) ==
        Approx(device->error(weight, given.scale, limits)).epsilon(kProducts));
  if (weight.rows * weight.columns > 1000) {
    CHECK(found != quantizers::magnitudes(weight, given.scale));  // something was clipped
  }
}

}  // namespace

TEST_CASE("awq on a device: rounding has the bits of the plain loops", "[quantizers][awq][cuda]") {
  for (const Case& given : all_cases(at::kFloat)) {
    check_rounding(given);
    check_orders<float>(given);
  }
  for (const Case& given : all_cases(at::kDouble)) {
    check_rounding(given);
    check_orders<double>(given);
  }
}

TEST_CASE("awq on a device: a number format has the bits of the plain loops",
          "[quantizers][awq][number_formats][cuda]") {
  for (const Case& given : format_cases(at::kFloat)) {
    check_rounding(given);
    check_orders<float>(given);
  }
  for (const Case& given : format_cases(at::kDouble)) {
    check_rounding(given);
    check_orders<double>(given);
  }
}

TEST_CASE("awq on a device: magnitudes of channels have the bits of the plain loops",
          "[quantizers][awq][cuda]") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const Case& given : all_cases(type)) {
      INFO(name_of(given.weight));
      std::vector<double> wanted = given.scale;  // sums go on from what is there
      quantizers::add_relative_magnitudes(given.weight, wanted);
      const matrix::LibtorchAlone as_on_a_gpu;
      std::vector<double> got = given.scale;
      quantizers::add_relative_magnitudes(given.weight, got);
      CHECK(differences(got, wanted) == "");
      CHECK(got != given.scale);
    }
  }
}

TEST_CASE("awq on a device: the objective is the processor's within its float32 products",
          "[quantizers][awq][cuda]") {
  for (const Case& given : all_cases(at::kFloat)) {
    check_objective(given);
  }
  // More columns, and more rows, than are multiplied at a time.
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 1100}, {2100, 9}}) {
    const at::Tensor weight = tensor_of(odd_matrix(rows, columns), at::kFloat);
    for (const int64_t size : {int64_t{-1}, int64_t{64}}) {
      check_objective({{weight,
                        rows,
                        columns,
                        {4, true},
                        quantizers::groups_of(columns, size),
                        GridRule::kWidened},
                       scale_for(columns)});
    }
  }
}

TEST_CASE("awq on a device: a layer gets the processor's scale, codes and loss",
          "[quantizers][awq][cuda]") {
  const std::string parameters = GENERATE(
      R"({"group_size":32})", R"({"group_size":40,"clip":"all","grid":"tight"})",
      R"({"preset":"autoawq","group_size":-1,"bits":3})",
      R"({"share":"linear","sym":true,"group_size":32})", R"({"format":"mxfp4"})",
      R"({"format":"nvfp4","mse":2})", R"({"format":"fp8_e4m3","group_size":32,"clip":"all"})",
      R"({"format":"ternary","group_size":32,"mse":2})");
  const bool float64 = GENERATE(false, true);
  CAPTURE(parameters, float64);
  const std::vector<Matrix> weights = {random_matrix(24, 96, 1), random_matrix(40, 96, 2)};
  const Matrix x = random_matrix(300, 96, 3, true);
  const auto run = [&](bool codes) {
    QuantizerBench bench(parameters, 96, 2);
    REQUIRE(bench.observe(x, float64) == QUENCH_OK);
    REQUIRE(bench.prepare(weights, float64) == "");
    std::vector<Quantized> out;
    for (uint32_t l = 0; l < 2; ++l) {
      out.push_back(codes ? bench.quantize(weights[l], l, float64)
                          : bench.quantize_without_codes(weights[l], l, float64));
      REQUIRE(out.back().error == "");
    }
    return out;
  };
  const std::vector<Quantized> wanted = run(true);
  const matrix::LibtorchAlone as_on_a_gpu;
  const std::vector<Quantized> got = run(true);
  const std::vector<Quantized> left_there = run(false);
  for (size_t l = 0; l < 2; ++l) {
    CHECK(differences(got[l].tensor<double>("channel_scale"),
                      wanted[l].tensor<double>("channel_scale")) == "");
    CHECK((got[l].bytes == wanted[l].bytes));
    CHECK(differences(got[l].codes, wanted[l].codes) == "");
    CHECK(differences(got[l].scales, wanted[l].scales) == "");
    CHECK(differences(got[l].zeros, wanted[l].zeros) == "");
    CHECK(differences(got[l].dequantized.values, wanted[l].dequantized.values) == "");
    CHECK(differences(left_there[l].dequantized.values, wanted[l].dequantized.values) == "");
    CHECK(left_there[l].bytes.size() == 1);  // the channel scale
    CHECK(left_there[l].tensor<double>("channel_scale") ==
          wanted[l].tensor<double>("channel_scale"));
    CHECK(left_there[l].numbers == got[l].numbers);
    for (const auto& [name, value] : wanted[l].numbers) {
      CHECK(got[l].numbers.at(name) == Approx(value).epsilon(kProducts));
    }
  }
  CHECK(wanted[0].numbers.at("search_loss") < wanted[0].numbers.at("plain_loss"));
}

TEST_CASE("awq on a device: the weight over its channel scale has the bits of the plain loop",
          "[quantizers][awq][cuda]") {
  const auto type = GENERATE(at::kFloat, at::kDouble);
  std::vector<Case> cases = all_cases(type);
  // More weights than are float64 at once.
  const at::Tensor large = tensor_of(random_matrix(3, 5'000'000, 4), type);
  cases.push_back({{large,
                    3,
                    5'000'000,
                    {4, false},
                    quantizers::groups_of(5'000'000, 1'000'000),
                    GridRule::kWidened},
                   scale_for(5'000'000)});
  for (const Case& given : cases) {
    INFO(name_of(given.weight));
    Codes codes(given.weight);
    quantizers::code_rows(given.weight, given.scale, {}, codes.storage.view());
    const quantizers::CodedThere there =
        quantizers::RoundingByKernel(given.weight, given.scale).code({});
    for (const bool scaled : {false, true}) {
      const std::span<const double> scale =
          scaled ? std::span<const double>(given.scale) : std::span<const double>();
      const at::Tensor wanted = at::empty_like(given.weight.weight);
      quantizers::write_effective_weight(codes.storage.view(), scale, wanted, "w");
      const at::Tensor got = at::empty_like(wanted);
      quantizers::write_effective_weight(there, given.weight.groups, scale, got, "w");
      CHECK(got.equal(wanted));
    }
  }
}

TEST_CASE("awq on a device: what is rounded twice is rounded in the plain loop's order",
          "[quantizers][awq][cuda]") {
  // The quotient of the value that float32 rounded, not of 0.3.
  const at::Tensor weight = tensor_of(matrix({{1}}), at::kFloat);
  quantizers::CodedThere coded(weight, {1, 1});
  coded.codes.fill_(3);
  coded.scales.fill_(0.1);
  coded.zeros.fill_(0);
  const at::Tensor out = at::empty_like(weight);
  const std::vector<double> scale = {5};
  quantizers::write_effective_weight(coded, {1, 1}, scale, out, "w");
  const auto once = static_cast<float>(0.1 * 3);
  CHECK(out.item<float>() == static_cast<float>(static_cast<double>(once) / 5));
  CHECK(out.item<float>() != static_cast<float>(0.1 * 3 / 5));
}

TEST_CASE("awq on a device: what is not finite is refused there", "[quantizers][awq][cuda]") {
  const at::Tensor weight = tensor_of(matrix({{1, 1}}), at::kFloat);
  const at::Tensor out = at::empty_like(weight);
  quantizers::CodedThere coded(weight, {2, 1});
  coded.codes.fill_(3);
  coded.scales.fill_(1e38);
  coded.zeros.fill_(0);
  const auto write = [&](const std::vector<double>& scale) {
    quantizers::write_effective_weight(coded, {2, 1}, scale, out, "w");
  };
  write({1, 1});
  CHECK_THROWS_WITH(write({1, 1e-4}), "w: the weight over its channel scale is not finite");
  coded.scales.fill_(1e39);
  CHECK_THROWS_WITH(write({1, 1}), "w: the dequantized weight is not finite");
  const matrix::LibtorchAlone as_on_a_gpu;
  QuantizerBench bench("{}", 2);
  REQUIRE(bench.observe(matrix({{1, 2}, {3, 1}})) == QUENCH_OK);
  CHECK(bench.prepare({matrix({{1, std::nan("")}})}) == "linear0: weight: not finite");
}

}  // namespace quench::test
