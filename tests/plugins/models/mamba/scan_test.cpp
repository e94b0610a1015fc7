#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "models/mamba/scan_kernels.hpp"

namespace quench::test {

namespace {

using mamba::kernel::kLanes;

// A row of T tokens with C channels of S states; what a case does not set is 0.
template <typename T>
struct ScanRow {
  ScanRow(size_t tokens, size_t channels, size_t states)
      : before(tokens),
        places(tokens, -1),
        u(tokens * channels),
        step(tokens * channels),
        bc(tokens * 2 * states),
        gate(tokens * channels),
        decay(states * channels),
        skip(channels),
        sizes{tokens, channels, states} {
    for (size_t t = 0; t < tokens; ++t) {
      before[t] = static_cast<int32_t>(t) - 1;
    }
  }

  std::vector<T> run() const {
    const mamba::kernel::Scan<T> row = {sizes[0],      sizes[1],    sizes[2],     before.data(),
                                        places.data(), 0,           u.data(),     step.data(),
                                        bc.data(),     gate.data(), decay.data(), skip.data()};
    std::vector<T> memory(mamba::kernel::scan_memory(row));
    std::vector<T> y(u.size());
    for (size_t first = 0; first < sizes[1]; first += kLanes) {
      mamba::kernel::scan(row, first, std::min(kLanes, sizes[1] - first), memory.data(), y.data());
    }
    return y;
  }

  std::vector<int32_t> before;
  std::vector<int32_t> places;
  std::vector<T> u;
  std::vector<T> step;
  std::vector<T> bc;
  std::vector<T> gate;
  std::vector<T> decay;
  std::vector<T> skip;
  size_t sizes[3];
};

double silu(double x) {
  return x / (1.0 + std::exp(-x));
}

}  // namespace

TEST_CASE("mamba: a scan of two tokens is what a hand works out", "[models][mamba]") {
  ScanRow<double> row(2, 1, 2);
  const double one = std::log(std::exp(1.0) - 1.0);  // softplus(one) = 1
  row.u = {2, 3};
  row.step = {one, one};
  row.bc = {1, 4, 5, 6, 7, 8, 9, 10};            // B = 1 4, C = 5 6; then B = 7 8, C = 9 10
  row.decay = {-std::log(2.0), -std::log(4.0)};  // states halve and quarter
  row.gate = {1, -1};
  row.skip = {0.5};
  const std::vector<double> y = row.run();
  // s = (2, 8), then (1 + 21, 2 + 24).
  CHECK(y[0] == Approx((5 * 2 + 6 * 8 + 0.5 * 2) * silu(1)));
  CHECK(y[1] == Approx((9 * 22 + 10 * 26 + 0.5 * 3) * silu(-1)));
}

TEST_CASE("mamba: the float32 softplus is that of float64 over its range", "[models][mamba]") {
  constexpr size_t kSteps = 4001;
  ScanRow<float> row(1, kSteps, 1);  // a channel per step; no multiple of the lanes
  row.bc = {1, 1};
  for (size_t c = 0; c < kSteps; ++c) {
    row.u[c] = 1;
    row.gate[c] = 30;  // silu(30) is 30 in float32
    row.step[c] = -40.0F + 0.02F * static_cast<float>(c);
  }
  const std::vector<float> y = row.run();
  double largest = 0;
  for (size_t c = 0; c < kSteps; ++c) {
    const double wanted = 30 * std::log1p(std::exp(static_cast<double>(row.step[c])));
    largest = std::max(largest, std::abs(static_cast<double>(y[c]) - wanted) / wanted);
  }
  CHECK(largest < 6e-7);  // some units in the last place
}

TEST_CASE("mamba: steps that are too large for an exponential forget the state",
          "[models][mamba]") {
  ScanRow<float> row(2, 1, 1);
  row.u = {1, 0};
  row.step = {1e4F, 1e4F};
  row.bc = {1, 1, 1, 1};
  row.decay = {-1};
  row.gate = {30, 30};
  const std::vector<float> y = row.run();
  CHECK(y[0] == Approx(3e5));
  CHECK(y[1] == 0.0F);
}

}  // namespace quench::test
