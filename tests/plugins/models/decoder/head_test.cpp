// The loss of each token.
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "models/decoder/head.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/comparison.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

struct Scored {
  std::vector<double> nll;
  std::vector<int32_t> argmax;
  int64_t rows = 0;  // whose logits were computed
};

// Losses where the logits are given: h [N, V] is taken for the logits.
Scored score(const at::Tensor& logits, std::vector<int32_t> targets, bool with_argmax) {
  Scored made;
  const auto count = static_cast<int64_t>(targets.size());
  made.nll.resize(targets.size());
  made.argmax.resize(targets.size());
  const quench_device cpu = {QUENCH_DEVICE_CPU, 0};
  const quench_tensor wanted = {targets.data(), cpu, 1, kit::kInt32, &count, nullptr, 0};
  const quench_tensor nll = {made.nll.data(), cpu, 1, kit::kFloat64, &count, nullptr, 0};
  const quench_tensor best = {made.argmax.data(), cpu, 1, kit::kInt32, &count, nullptr, 0};
  const quench_head_args args = {
      sizeof args, 0, nullptr, &wanted, &nll, with_argmax ? &best : nullptr, nullptr};
  decoder::token_nll(args, logits, logits.size(1), [&](const at::Tensor& rows, at::Tensor to) {
    made.rows += rows.size(0);
    to.copy_(rows);
  });
  return made;
}

at::Tensor rows_of(std::vector<double> values, int64_t columns, at::ScalarType type) {
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  return at::from_blob(values.data(), {rows, columns}, at::TensorOptions(at::kDouble))
      .to(type)
      .clone();
}

}  // namespace

TEST_CASE("token_nll: losses are those worked by hand", "[models][decoder]") {
  const at::ScalarType type = GENERATE(at::kDouble, at::kFloat, at::kBFloat16, at::kHalf);
  // softmax of (0, log 3) is (1/4, 3/4); equal logits give 1/2; a far one gives its distance.
  const at::Tensor logits = rows_of({0.0, std::log(3.0), 5.0, 5.0, 0.0, 200.0}, 2, type);
  const double rounding = type == at::kDouble ? 1e-15 : type == at::kFloat ? 1e-7 : 4e-3;
  const Scored made = score(logits, {0, 1, 0}, false);
  CHECK(std::fabs(made.nll[0] - std::log(4.0)) < rounding);
  CHECK(std::fabs(made.nll[1] - std::log(2.0)) < 1e-15);
  CHECK(made.nll[2] == 200.0);
}

TEST_CASE("token_nll: the most likely id is the lowest of equals", "[models][decoder]") {
  const at::Tensor logits = rows_of({1.0, 7.0, 7.0, 2.0, 2.0, 2.0}, 3, at::kFloat);
  CHECK(score(logits, {-1, 0}, true).argmax == std::vector<int32_t>{1, 0});
}

TEST_CASE("token_nll: rows that are not scored cost nothing", "[models][decoder]") {
  const at::Tensor logits = at::full({5, 3}, 1.0, at::TensorOptions(at::kFloat));
  const Scored made = score(logits, {-1, 2, -1, 0, -1}, false);
  CHECK(made.rows == 2);
  CHECK(made.nll[0] == 0.0);
  CHECK(std::fabs(made.nll[3] - std::log(3.0)) < 1e-7);
  CHECK(score(logits, {-1, 2, -1, 0, -1}, true).rows == 5);
}

TEST_CASE("token_nll: chunks cover every row once", "[models][decoder]") {
  std::vector<double> values;
  std::vector<int32_t> targets;
  for (int i = 0; i < 2500; ++i) {
    values.insert(values.end(), {0.0, static_cast<double>(i % 97) / 10.0});
    targets.push_back(i % 2);
  }
  const Scored made = score(rows_of(values, 2, at::kDouble), targets, false);
  CHECK(made.rows == 2500);
  for (size_t i = 0; i < made.nll.size(); ++i) {
    const double other = values[2 * i + 1];
    const double wanted = std::log1p(std::exp(targets[i] == 1 ? -other : other));
    REQUIRE(std::fabs(made.nll[i] - wanted) < 1e-12);
  }
}

TEST_CASE("token_nll: a loss that is not finite is an error", "[models][decoder]") {
  const double bad = GENERATE(std::nan(""), std::numeric_limits<double>::infinity());
  const at::Tensor logits = rows_of({0.0, 1.0, bad, 1.0}, 2, at::kFloat);
  CHECK_THROWS_WITH(score(logits, {0, 1}, false), Catch::Contains("token 1"));
  CHECK_NOTHROW(score(logits, {0, -1}, false));
}

TEST_CASE("token_nll: a target outside the vocabulary is an error", "[models][decoder]") {
  const at::Tensor logits = at::full({2, 3}, 1.0, at::TensorOptions(at::kFloat));
  CHECK_THROWS_WITH(score(logits, {0, 3}, false),
                    Catch::Contains("token 1: target 3, wanted -1..2"));
  CHECK_THROWS_WITH(score(logits, {-2, 0}, false), Catch::Contains("token 0: target -2"));
}

TEST_CASE("token_nll: a request to stop is honoured", "[models][decoder]") {
  request_cancel(true);
  const at::Tensor logits = at::full({2, 3}, 1.0, at::TensorOptions(at::kFloat));
  CHECK_THROWS_WITH(score(logits, {0, 1}, false), "stopped on request");
  request_cancel(false);
}

}  // namespace quench::test
