#include "report/spread.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/student_t.hpp"

using quench::Spread;
using quench::spread_of;
using quench::SpreadKind;

namespace {

// Figures of printed tables of the distribution, which have them to 9 digits.
constexpr double kTableTolerance = 1e-8;

}  // namespace

TEST_CASE("t quantile: it is that of the tables", "[report]") {
  struct Entry {
    size_t n;
    double confidence;
    double t;
  };
  const auto [n, confidence, t] = GENERATE(values<Entry>({
      {2, 0.95, 12.706204736},
      {3, 0.95, 4.302652730},
      {4, 0.95, 3.182446305},
      {5, 0.95, 2.776445105},
      {10, 0.95, 2.262157163},
      {30, 0.95, 2.045229642},
      {101, 0.95, 1.983971519},
      {2, 0.90, 6.313751515},
      {6, 0.99, 4.032142984},
      {1000001, 0.95, 1.959966358},  // the normal's 1.959963985 and its first correction
  }));
  CAPTURE(n, confidence);
  CHECK(quench::t_quantile(n, confidence) == Approx(t).epsilon(kTableTolerance));
}

TEST_CASE("t quantile: one value and a confidence of 1 are refused", "[report]") {
  CHECK_THROWS_AS(quench::t_quantile(1, 0.95), quench::Error);
  CHECK_THROWS_AS(quench::t_quantile(0, 0.95), quench::Error);
  CHECK_THROWS_AS(quench::t_quantile(3, 1.0), quench::Error);
  CHECK_THROWS_AS(quench::t_quantile(3, std::nan("")), quench::Error);
}

TEST_CASE("spread: four values by hand", "[report]") {
  const Spread got = spread_of(SpreadKind::kDraws, {1, 2, 3, 4});
  CHECK(got.n == 4);
  CHECK(got.mean == 2.5);
  CHECK(*got.deviation == Approx(std::sqrt(5.0 / 3)).epsilon(1e-14));
  CHECK(*got.standard_error == Approx(std::sqrt(5.0 / 12)).epsilon(1e-14));
  const double half = 3.182446305 * std::sqrt(5.0 / 12);
  CHECK(got.interval->low == Approx(2.5 - half).epsilon(kTableTolerance));
  CHECK(got.interval->high == Approx(2.5 + half).epsilon(kTableTolerance));
  CHECK_FALSE(got.interval->excludes(1));
  CHECK(got.interval->excludes(0.4));
  CHECK(got.interval->excludes(4.6));
}

TEST_CASE("spread: small differences of large values keep their digits", "[report]") {
  const double base = 1e9;
  const Spread got = spread_of(SpreadKind::kItems, {base + 1, base + 2, base + 4});
  CHECK(got.mean - base == Approx(7.0 / 3).epsilon(1e-6));
  CHECK(*got.deviation == Approx(std::sqrt(7.0 / 3)).epsilon(1e-9));
}

TEST_CASE("spread: one value has no interval", "[report]") {
  const Spread got = spread_of(SpreadKind::kSeeds, {0.25});
  CHECK(got.mean == 0.25);
  CHECK_FALSE(got.interval);
  CHECK_FALSE(got.deviation);
  const nlohmann::json json = to_json(got);
  CHECK(json.at("n") == 1);
  CHECK(json.at("interval").is_null());
}

TEST_CASE("spread: nothing and infinities are refused", "[report]") {
  CHECK_THROWS_AS(spread_of(SpreadKind::kItems, {}), quench::Error);
  CHECK_THROWS_AS(spread_of(SpreadKind::kItems, {1, std::numeric_limits<double>::infinity()}),
                  quench::Error);
}

TEST_CASE("spread: each kind says what it is and what it leaves out", "[report]") {
  for (const SpreadKind kind : quench::kSpreadKinds) {
    const nlohmann::json json = to_json(spread_of(kind, {1, 2}));
    CHECK(json.at("kind") == quench::spread_name(kind));
    CHECK_FALSE(json.at("omits").get<std::string>().empty());
    CHECK(json.at("confidence") == 0.95);
  }
}

TEST_CASE("spread: a factor scales all of it", "[report]") {
  const Spread got = scaled(spread_of(SpreadKind::kItems, {1, 2, 3, 4}), 100);
  CHECK(got.mean == 250);
  CHECK(*got.deviation == Approx(100 * std::sqrt(5.0 / 3)));
  CHECK(got.interval->high - got.mean == Approx(got.mean - got.interval->low));
}
