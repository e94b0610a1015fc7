#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "models/decoder/rms_norm.hpp"
#include "tests/plugins/models/comparison.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using decoder::NormRounding;

at::Tensor normalized(const at::Tensor& x, const at::Tensor& weight, NormRounding rounding) {
  const at::Tensor y = at::empty_like(x);
  decoder::rms_norm(x, weight, 1e-5, rounding, y);
  return y;
}

}  // namespace

TEST_CASE("rms_norm: each row is divided by its root mean square", "[models][decoder]") {
  const at::ScalarType type = GENERATE(at::kDouble, at::kFloat);
  const int64_t columns = GENERATE(1, 7, 8, 21);
  const at::Tensor x =
      at::arange(3 * columns, at::TensorOptions(type)).sub_(4.5).view({3, columns});
  const at::Tensor weight = at::arange(columns, at::TensorOptions(type)).add_(0.5);
  std::vector<double> wanted = doubles(x);
  const std::vector<double> scale = doubles(weight);
  for (size_t row = 0; row < 3; ++row) {
    double* values = &wanted[row * scale.size()];
    double square = 0.0;
    for (size_t c = 0; c < scale.size(); ++c) {
      square += values[c] * values[c];
    }
    const double root = std::sqrt(square / static_cast<double>(columns) + 1e-5);
    for (size_t c = 0; c < scale.size(); ++c) {
      values[c] *= scale[c] / root;
    }
  }
  const at::Tensor y = normalized(x, weight, NormRounding::kBeforeWeight);
  CHECK(distance(doubles(y), wanted) < (type == at::kDouble ? 1e-13 : 1e-5));
  CHECK(identical(y, normalized(x, weight, NormRounding::kAfterWeight)));
  decoder::rms_norm(x, weight, 1e-5, NormRounding::kAfterWeight, x);  // in place
  CHECK(identical(x, y));
}

TEST_CASE("rms_norm: a 16-bit norm rounds before the weight or after it", "[models][decoder]") {
  constexpr int64_t kColumns = 64;
  const at::Tensor x = at::full({1, kColumns}, 1.0, at::TensorOptions(at::kBFloat16));
  x.narrow(1, 0, kColumns / 2).fill_(3.0);
  const at::Tensor weight =  // 1 .. 2, exact in bfloat16
      at::arange(kColumns, at::TensorOptions(at::kFloat)).div_(64.0).add_(1.0).to(at::kBFloat16);
  const double root = std::sqrt(5.0 + 1e-5);
  const auto rounded = [](double value) {  // to the 8 bits of a bfloat16 in [0.25, 4)
    const double unit = std::ldexp(1.0, std::ilogb(value) - 7);
    return std::nearbyint(value / unit) * unit;
  };
  const std::vector<double> before = doubles(normalized(x, weight, NormRounding::kBeforeWeight));
  const std::vector<double> after = doubles(normalized(x, weight, NormRounding::kAfterWeight));
  for (size_t c = 0; c < before.size(); ++c) {
    const double value = (c < kColumns / 2 ? 3.0 : 1.0) / root;
    const double scale = 1.0 + static_cast<double>(c) / 64.0;
    CHECK(before[c] == rounded(rounded(value) * scale));
    CHECK(after[c] == rounded(value * scale));
  }
  CHECK(before != after);
}

}  // namespace quench::test
