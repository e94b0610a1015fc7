// Where the optimizers take their gradients, by hand and against finite differences in float64.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/plugins/optimizers/closure_run.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

using Point = std::vector<double>;

constexpr size_t kSize = 6;
// Central differences in float64 err by 1e-10; points and gradients are rounded to float32.
constexpr double kRoundedPoint = 2e-6;
// The same, times the factor λ/h² = 50 on differences of gradients.
constexpr double kRoundedDifferences = 1e-4;

const std::vector<NamedTensor> kOneMatrix = {{"w", QUENCH_ROLE_MATRIX, {2, 3}}};
const std::vector<float> kWeights = {0.5F, -0.25F, 1.0F, 0.75F, -1.5F, 0.125F};

// Not separable, with derivatives of all orders: Σ_k sin(a_k·θ + k).
double angle(const Point& at, size_t k) {
  double sum = static_cast<double>(k);
  for (size_t i = 0; i < at.size(); ++i) {
    sum += at[i] * (static_cast<double>((i + 1) * (k + 2) % 7) - 3) / 3;
  }
  return sum;
}
double waves(const Point& at) {
  double loss = 0;
  for (size_t k = 0; k < 4; ++k) {
    loss += std::sin(angle(at, k));
  }
  return loss;
}
double waves_with_gradient(const std::vector<float>& weights, Point& gradient) {
  const Point at(weights.begin(), weights.end());
  for (size_t k = 0; k < 4; ++k) {
    for (size_t i = 0; i < at.size(); ++i) {
      gradient[i] += std::cos(angle(at, k)) * (static_cast<double>((i + 1) * (k + 2) % 7) - 3) / 3;
    }
  }
  return waves(at);
}

template <typename Function>
Point central_differences(const Function& function, const Point& at) {
  constexpr double kStep = 1e-5;
  Point out(at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    Point above = at;
    Point below = at;
    above[i] += kStep;
    below[i] -= kStep;
    out[i] = (function(above) - function(below)) / (2 * kStep);
  }
  return out;
}

Point moved(const Point& from, double factor, const Point& direction) {
  Point out = from;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] += factor * direction[i];
  }
  return out;
}

double norm_of(const Point& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

void check_near(const std::vector<float>& got, const Point& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == Approx(wanted[i]).margin(tolerance).epsilon(0));
  }
}

// L = ½(3x² + 4y²): at (1, 1) the gradient is (3, 4), of norm 5.
double bowl(const std::vector<float>& weights, Point& gradient) {
  gradient = {3.0 * weights[0], 4.0 * weights[1]};
  return 1.5 * weights[0] * weights[0] + 2.0 * weights[1] * weights[1];
}

// L = Σ (i + 1)·θ⁴.
double quartic(const std::vector<float>& weights, Point& gradient) {
  double loss = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double x = weights[i];
    gradient[i] = 4 * static_cast<double>(i + 1) * x * x * x;
    loss += static_cast<double>(i + 1) * x * x * x * x;
  }
  return loss;
}

}  // namespace

TEST_CASE("sam: by hand, a step of 0.5 up or down the slope", "[optimizers][sam]") {
  const auto [direction, point, gradient] =
      GENERATE(table<std::string, std::vector<float>, std::vector<double>>(
          {{"ascent", {1.3F, 1.4F}, {3.9, 5.6}}, {"descent", {0.7F, 0.6F}, {2.1, 2.4}}}));
  ClosureRun run("sam", {{"rho", 0.5}, {"direction", direction}},
                 {{"w", QUENCH_ROLE_MATRIX, {1, 2}}}, bowl);
  check_near(run.gradient(1, {1, 1}), gradient, kRoundedPoint);
  REQUIRE(run.points().size() == 2);
  CHECK(run.points()[0] == std::vector<float>{1, 1});
  CHECK(run.points()[1] == point);
}

TEST_CASE("sam: of matrices alone, neither the norm nor the move has the other tensors",
          "[optimizers][sam]") {
  ClosureRun run("sam", {{"rho", 0.5}, {"tensors", "matrices"}},
                 {{"w", QUENCH_ROLE_MATRIX, {1, 1}}, {"b", QUENCH_ROLE_BIAS, {1}}}, bowl);
  check_near(run.gradient(1, {1, 1}), {4.5, 4}, kRoundedPoint);
  CHECK(run.points()[1] == std::vector<float>{1.5F, 1});
}

TEST_CASE("sam: its gradient is that of the loss at the neighbour, by finite differences",
          "[optimizers][sam]") {
  const std::string direction = GENERATE("ascent", "descent");
  const double rho = 0.3;
  ClosureRun run("sam", {{"rho", rho}, {"direction", direction}}, kOneMatrix, waves_with_gradient);
  const Point at(kWeights.begin(), kWeights.end());
  const Point slope = central_differences(waves, at);
  const double factor = (direction == "ascent" ? rho : -rho) / norm_of(slope);
  check_near(run.gradient(1, kWeights), central_differences(waves, moved(at, factor, slope)),
             kRoundedPoint);
}

TEST_CASE("sam: where the gradient is zero it stays", "[optimizers][sam]") {
  ClosureRun run("sam", {{"rho", 0.5}}, {{"w", QUENCH_ROLE_MATRIX, {1, 2}}}, bowl);
  CHECK(run.gradient(1, {0, 0}) == std::vector<float>{0, 0});
  CHECK(run.points().size() == 1);
}

// (θ + h)⁴ + (θ − h)⁴ − 2θ⁴ = 12θ²h² + 2h⁴, so the penalty's gradient is 24(i + 1)λθ for any signs
// and any h.
TEST_CASE("trace_penalty: by hand, of fourth powers", "[optimizers][trace_penalty]") {
  const double radius = GENERATE(0.125, 0.5);
  ClosureRun run("trace_penalty", {{"strength", 0.25}, {"radius", radius}}, kOneMatrix, quartic);
  Point wanted(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    const double x = kWeights[i];
    wanted[i] = static_cast<double>(i + 1) * (4 * x * x * x + 0.25 * 24 * x);
  }
  check_near(run.gradient(3, kWeights), wanted, kRoundedDifferences);
}

TEST_CASE("trace_penalty: its gradient is that of loss and penalty, by finite differences",
          "[optimizers][trace_penalty]") {
  const double sign = GENERATE(1.0, -1.0);  // one of the two is bent downwards, and not penalized
  const double strength = 0.5;
  const double radius = 0.1;
  ClosureRun run("trace_penalty", {{"strength", strength}, {"radius", radius}}, kOneMatrix,
                 [&](const std::vector<float>& weights, Point& gradient) {
                   const double loss = waves_with_gradient(weights, gradient);
                   for (double& each : gradient) {
                     each *= sign;
                   }
                   return sign * loss;
                 });
  const std::vector<float> gradient = run.gradient(7, kWeights);
  REQUIRE(run.points().size() == 3);
  const Point at(kWeights.begin(), kWeights.end());
  Point signs(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    signs[i] = run.points()[1][i] > kWeights[i] ? 1 : -1;
    CHECK(run.points()[1][i] == Approx(at[i] + radius * signs[i]).margin(1e-7));
    CHECK(run.points()[2][i] == Approx(at[i] - radius * signs[i]).margin(1e-7));
  }
  const auto penalty = [&](const Point& x) {
    const double bent = waves(moved(x, radius, signs)) + waves(moved(x, -radius, signs));
    return sign * (bent - 2 * waves(x)) / (radius * radius);
  };
  CHECK(std::abs(penalty(at)) > 0.01);
  const auto objective = [&](const Point& x) {
    return sign * waves(x) + strength * std::max(0.0, penalty(x));
  };
  check_near(gradient, central_differences(objective, at), kRoundedDifferences);
}

TEST_CASE("trace_penalty: over steps the mean of its estimate is the trace",
          "[optimizers][trace_penalty]") {
  // L = ½(Σθ)² + Σ(i + 1)θ²: H has 1 everywhere and 2(i + 1) more on the diagonal; trace 6 + 42.
  const auto loss = [](const Point& x) {
    const double sum = std::accumulate(x.begin(), x.end(), 0.0);
    double out = 0.5 * sum * sum;
    for (size_t i = 0; i < x.size(); ++i) {
      out += static_cast<double>(i + 1) * x[i] * x[i];
    }
    return out;
  };
  ClosureRun run("trace_penalty", {{"radius", 0.5}}, kOneMatrix,
                 [](const std::vector<float>&, Point&) { return 0.0; });
  constexpr int kSteps = 400;
  double mean = 0;
  for (int step = 1; step <= kSteps; ++step) {
    run.gradient(static_cast<uint64_t>(step), kWeights);
    const auto at = [&](size_t p) {
      return loss(Point(run.points()[p].begin(), run.points()[p].end()));
    };
    mean += (at(1) + at(2) - 2 * at(0)) / 0.25 / kSteps;
  }
  // The variance of vᵀHv is twice the sum of the 30 squares off the diagonal.
  CHECK(mean == Approx(48).margin(4 * std::sqrt(2.0 * 30 / kSteps)));
}

TEST_CASE("noise_injection: the gradient is that at weights with Gaussian noise of the given size",
          "[optimizers][noise_injection]") {
  constexpr size_t kMatrix = size_t{300} * 257;
  const std::vector<NamedTensor> tensors = {{"b", QUENCH_ROLE_BIAS, {50}},
                                            {"w", QUENCH_ROLE_MATRIX, {300, 257}}};
  std::vector<float> weights(50 + kMatrix);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = i % 2 == 0 ? 2.0F : -2.0F;  // root mean square 2
  }
  const bool relative = GENERATE(true, false);
  ClosureRun run("noise_injection", {{"sigma", 0.1}, {"relative", relative}}, tensors, quartic);
  const std::vector<float> gradient = run.gradient(1, weights);
  REQUIRE(run.points().size() == 1);
  const std::vector<float> point = run.points()[0];
  CHECK(std::equal(point.begin(), point.begin() + 50, weights.begin()));
  Point at_point(point.size());
  quartic(point, at_point);
  CHECK(gradient == std::vector<float>(at_point.begin(), at_point.end()));
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (size_t i = 50; i < weights.size(); ++i) {
    const double unit = (static_cast<double>(point[i]) - weights[i]) / (relative ? 0.2 : 0.1);
    sum += unit / kMatrix;
    squares += unit * unit / kMatrix;
    fourth += unit * unit * unit * unit / kMatrix;
  }
  // Four standard deviations of the mean of x, x² and x⁴ of a standard normal: 1, 2 and 96.
  CHECK(sum == Approx(0).margin(4 / std::sqrt(kMatrix)));
  CHECK(squares == Approx(1).margin(4 * std::sqrt(2.0 / kMatrix)));
  CHECK(fourth == Approx(3).margin(4 * std::sqrt(96.0 / kMatrix)));
  run.gradient(1, weights);
  CHECK(run.points()[0] == point);
  run.gradient(2, weights);
  CHECK(run.points()[0] != point);
}

TEST_CASE("qat: by hand, groups of a row on their grids", "[optimizers][qat]") {
  const std::vector<NamedTensor> tensors = {{"w", QUENCH_ROLE_MATRIX, {2, 3}},
                                            {"b", QUENCH_ROLE_BIAS, {1}}};
  const std::vector<float> weights = {-1.5F, 0.4F, 7.0F, 0.6F, 1.5F, 0.25F, 0.3F};
  // Two bits: codes 0..3. Symmetric: steps of 2a/3 from −2 steps to 1 step; half goes to even.
  ClosureRun symmetric("qat", {{"bits", 2}, {"group_size", 2}}, tensors, quartic);
  const std::vector<float> gradient = symmetric.gradient(1, weights);
  REQUIRE(symmetric.points().size() == 1);
  const std::vector<float> point = symmetric.points()[0];
  // [−1.5, 0.4]: step 1. [7]: no negative value, so [0, a] in steps of a/3, from which one remains.
  // [0.6, 1.5]: steps of 0.5, of which one remains. [0.25]: likewise.
  check_near(point, {-2, 0, 7.0 / 3, 0.5, 0.5, 0.25 / 3, 0.3}, 1e-6);
  Point at_point(point.size());
  quartic(point, at_point);
  CHECK(gradient == std::vector<float>(at_point.begin(), at_point.end()));

  ClosureRun asymmetric("qat", {{"bits", 2}, {"group_size", -1}, {"sym", false}}, tensors, quartic);
  asymmetric.gradient(1, {-1, 0.4F, 2.0F, 0.6F, 1.6F, 3.0F, 0.3F});
  // [−1, 2] and [0, 3], both in steps of 1.
  check_near(asymmetric.points()[0], {-1, 0, 2, 1, 2, 3, 0.3F}, 1e-6);
}

TEST_CASE("closure: gradients have the same bits on one and on two threads", "[optimizers]") {
  const std::string id = GENERATE("sam", "trace_penalty", "noise_injection", "qat");
  const std::vector<NamedTensor> tensors = {{"w", QUENCH_ROLE_MATRIX, {300, 257}},
                                            {"b", QUENCH_ROLE_BIAS, {70'000}}};
  std::vector<float> weights(300 * 257 + 70'000);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(i * 2654435761u % 1000003) * 1e-6F - 0.5F;
  }
  std::array<std::vector<float>, 2> gradients;
  for (const uint32_t threads : {1u, 2u}) {
    set_task_threads(threads);
    gradients[threads - 1] = ClosureRun(id, {}, tensors, quartic).gradient(3, weights);
  }
  set_task_threads(1);
  CHECK(gradients[0] == gradients[1]);
}

}  // namespace quench::test
