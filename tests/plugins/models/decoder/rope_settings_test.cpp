#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "models/decoder/rope_settings.hpp"
#include "tests/plugins/models/comparison.hpp"

namespace quench::test {

using decoder::RopeSettings;

TEST_CASE("rope_settings: plain frequencies fall from 1 by powers of theta", "[models][decoder]") {
  const std::vector<double> made = doubles(decoder::frequencies({.theta = 10000.0}, 8));
  CHECK(distance(made, {1.0, 0.1, 0.01, 0.001}) < 1e-8);
}

TEST_CASE("rope_settings: llama3 keeps short waves, slows long ones, blends between",
          "[models][decoder]") {
  const RopeSettings rope{RopeSettings::Kind::kLlama3, 10000.0, 8.0, 1.0, 4.0, 128.0};
  const std::vector<double> made = doubles(decoder::frequencies(rope, 8));
  // Waves of 6.28, 62.8, 628 and 6283 positions; 128 / 4 and 128 / 1 are the limits.
  const double kept = (128.0 / (2.0 * std::numbers::pi / 0.1) - 1.0) / 3.0;
  REQUIRE(kept > 0.0);
  REQUIRE(kept < 1.0);
  CHECK(made[0] == 1.0);
  CHECK(made[1] == Approx(0.1 * (kept + (1.0 - kept) / 8.0)).epsilon(1e-6));
  CHECK(made[2] == Approx(0.01 / 8.0).epsilon(1e-6));
  CHECK(made[3] == Approx(0.001 / 8.0).epsilon(1e-6));
}

TEST_CASE("rope_settings: linear scaling slows all waves", "[models][decoder]") {
  const RopeSettings rope{.kind = RopeSettings::Kind::kLinear, .theta = 10000.0, .factor = 4.0};
  CHECK(distance(doubles(decoder::frequencies(rope, 4)), {0.25, 0.0025}) < 1e-9);
}

}  // namespace quench::test
