#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/contrast.hpp"
#include "report/family.hpp"
#include "report/findings.hpp"
#include "report/formulas.hpp"
#include "report/observation.hpp"
#include "report/student_t.hpp"
#include "tests/report/loss_records.hpp"

using quench::Contrast;
using quench::ContrastSpec;
using quench::findings_of;
using quench::Record;
using quench::Spread;
using quench::SpreadKind;
using quench::Statistic;
using quench::test::float_loss;
using quench::test::quantized_loss;

namespace {

constexpr double kNear = 1e-12;

ContrastSpec sides(const std::string& a, const std::string& b) {
  ContrastSpec out;
  out.a.name = out.a.text = a;
  out.b.name = out.b.text = b;
  return out;
}

std::vector<double> four(double value) {
  return {value - 0.3, value - 0.1, value + 0.1, value + 0.3};
}

// Checkpoints of a branch with these float losses and costs at 3 bits, at steps 1, 2, ...
void add_line(const std::string& branch, const std::vector<double>& losses,
              const std::vector<double>& costs, std::vector<Record>& to,
              const std::string& method = "plain") {
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto step = static_cast<int64_t>(i + 1);
    Record f = float_loss(branch, branch + std::to_string(step), step, four(losses[i]));
    to.push_back(quantized_loss(f, method, 3, {costs[i], costs[i], costs[i], costs[i]}));
    to.push_back(std::move(f));
  }
}

Contrast say(const ContrastSpec& spec, const std::vector<Record>& records) {
  static std::vector<Record> kept;  // rows point into it
  kept = records;
  return contrast_of(spec, observe(kept).all);
}

}  // namespace

TEST_CASE("formulas: ranks share ties, and Spearman's correlation is that of a table", "[report]") {
  using quench::rank_correlation;
  CHECK(quench::ranks_of(std::vector<double>{5, 1, 5, 9}) == std::vector<double>{2.5, 1, 2.5, 4});
  const std::vector<double> x = {1, 2, 3, 4, 5};
  CHECK(*rank_correlation(x, std::vector<double>{1, 8, 27, 64, 125}) == Approx(1));
  // 1 − 6 Σ d²/(n (n² − 1)), d = 1, 1, 1, 1, 0: 1 − 24/120.
  CHECK(*rank_correlation(x, std::vector<double>{20, 10, 40, 30, 50}) == Approx(0.8));
  CHECK_FALSE(rank_correlation(x, std::vector<double>(5, 1.0)).has_value());
  CHECK_FALSE(rank_correlation(std::vector<double>{1, 2}, std::vector<double>{1, 2}).has_value());
}

TEST_CASE("formulas: slopes, shares and crossings by hand", "[report]") {
  const std::vector<double> x = {0, 1, 2};
  CHECK(*quench::slope(x, std::vector<double>{1, 2, 6}) == Approx(2.5));
  CHECK_FALSE(quench::slope(std::vector<double>(3, 1.0), x).has_value());
  CHECK(*quench::largest_over_smallest(std::vector<double>{2, 3, 1.5}) == 2);
  CHECK_FALSE(quench::largest_over_smallest(std::vector<double>{2, 0}).has_value());
  // Falls through 2.5 twice: the last time counts.
  const std::vector<double> losses = {3, 2, 4, 2};
  const auto crossing = quench::last_crossing(losses, 2.5);
  REQUIRE(crossing.has_value());
  CHECK(crossing->first == 2);
  CHECK(crossing->share == Approx(0.75));
  CHECK(quench::value_at(std::vector<double>{0, 0, 10, 20}, *crossing) == Approx(17.5));
  CHECK_FALSE(quench::last_crossing(losses, 1.9).has_value());
  CHECK(quench::last_crossing(losses, 2)->first == 3);
}

TEST_CASE("contrast: at equal float loss it reads between two checkpoints", "[report]") {
  std::vector<Record> records;
  add_line("high", {4.0, 3.6, 3.56, 3.40}, {0.1, 0.2, 0.4, 0.5}, records);
  add_line("low", {4.0, 3.7, 3.57}, {0.2, 0.3, 0.6}, records);
  ContrastSpec spec = sides("high", "low");
  spec.at_equal_loss = true;
  const Contrast got = say(spec, records);
  REQUIRE(got.problems.empty());
  REQUIRE(got.rows.size() == 1);
  // Both reach 3.57: `low` at its end, `high` three quarters of the way from 3.6 to 3.56, where its
  // cost is 0.25 · 0.2 + 0.75 · 0.4 = 0.35.
  CHECK(got.rows[0].value == Approx(0.35 - 0.6).margin(1e-9));
  CHECK(got.rows[0].what == "3 bits, plain bits=3, a float loss of 3.5700");
  CHECK_THAT(got.rows[0].sentence,
             Catch::Contains("high has that float loss between high2 and high3, low at low3."));
  // The costs are the same on every block, so no resample changes them.
  REQUIRE(got.rows[0].spreads.size() == 1);
  CHECK(got.rows[0].spreads[0].is_resampled);
  CHECK(got.rows[0].spreads[0].interval->low == Approx(-0.25).margin(1e-9));
}

TEST_CASE("contrast: at equal float loss it refuses what does not overlap or lies far apart",
          "[report]") {
  ContrastSpec spec = sides("high", "low");
  spec.at_equal_loss = true;
  std::vector<Record> apart;
  add_line("high", {3.2, 3.1, 3.0}, {0.1, 0.2, 0.4}, apart);
  add_line("low", {4.0, 3.7, 3.5}, {0.2, 0.3, 0.6}, apart);
  const Contrast no_overlap = say(spec, apart);
  CHECK(no_overlap.rows.empty());
  CHECK(
      no_overlap.problems ==
      std::vector<std::string>{"3 bits, plain bits=3: the float losses of high (3.0000 to 3.2000) "
                               "and of low (3.5000 to 4.0000) do not overlap"});
  std::vector<Record> sparse;
  add_line("high", {4.0, 3.6, 3.4}, {0.1, 0.2, 0.4}, sparse);
  add_line("low", {4.0, 3.7, 3.5}, {0.2, 0.3, 0.6}, sparse);
  const Contrast too_far = say(spec, sparse);
  CHECK(too_far.rows.empty());
  REQUIRE(too_far.problems.size() == 1);
  CHECK_THAT(
      too_far.problems[0],
      Catch::Contains("high: the float losses between high2 and high3 are 0.2 nats per token "
                      "apart, wanted at most 0.05 (`within`)"));
  spec.within = 0.3;
  CHECK(say(spec, sparse).rows.size() == 1);
}

TEST_CASE("contrast: the ratio of slopes over an axis", "[report]") {
  std::vector<Record> records;
  add_line("late", {3.2, 3.1, 3.0}, {0.1, 0.4, 0.7}, records);   // 0.3 a step
  add_line("early", {4.0, 3.7, 3.5}, {0.2, 0.3, 0.4}, records);  // 0.1 a step
  ContrastSpec spec = sides("late", "early");
  spec.statistic = Statistic::kSlopeRatio;
  spec.over = "step";
  const Contrast got = say(spec, records);
  REQUIRE(got.rows.size() == 1);
  CHECK(got.rows[0].value == Approx(3).epsilon(1e-9));
  CHECK(got.rows[0].cells == 6);
  CHECK_THAT(got.rows[0].sentence,
             Catch::StartsWith("slope of late over step, over that of early, 3 bits") &&
                 Catch::Contains("Above 1, over 4 validation items."));
}

TEST_CASE("contrast: a rank correlation along the training, with an axis and with a method",
          "[report]") {
  std::vector<Record> records;
  add_line("main", {4, 3.9, 3.8, 3.7}, {0.1, 0.3, 0.2, 0.4}, records);
  const size_t plain = records.size();
  add_line("main", {4, 3.9, 3.8, 3.7}, {0.4, 0.3, 0.2, 0.1}, records, "good");
  for (size_t i = records.size(); i-- > plain;) {  // both are measured on the same float models
    if (records[i].quantizer.is_null()) {
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  ContrastSpec with_axis = sides("plain", "");
  with_axis.b = {};
  with_axis.statistic = Statistic::kRankCorrelation;
  with_axis.over = "step";
  const Contrast along = say(with_axis, records);
  REQUIRE(along.rows.size() == 1);
  CHECK(along.rows[0].value == Approx(0.8).margin(kNear));  // 1 − 6 · 2/(4 · 15)
  CHECK(along.rows[0].b == nullptr);
  ContrastSpec with_method = sides("plain", "good");
  with_method.statistic = Statistic::kRankCorrelation;
  const Contrast both = say(with_method, records);
  REQUIRE(both.rows.size() == 1);
  CHECK(both.rows[0].value == Approx(-0.8).margin(kNear));
  const nlohmann::json json = to_json(both);
  CHECK(json.at("statistic") == "rank_correlation");
  CHECK(json.at("rows")[0].at("unit") == "1");
  CHECK(json.at("rows")[0].at("cells") == 8);
}

TEST_CASE("contrast: the largest difference over the smallest, none if one is not above 0",
          "[report]") {
  std::vector<Record> records;
  add_line("decay", {4, 3.9, 3.8}, {0.3, 0.5, 0.4}, records);
  add_line("constant", {4, 3.9, 3.8}, {0.1, 0.1, 0.1}, records);
  ContrastSpec spec = sides("decay", "constant");
  spec.match = {"step"};
  spec.statistic = Statistic::kLargestOverSmallest;
  const Contrast got = say(spec, records);
  REQUIRE(got.rows.size() == 1);
  CHECK(got.rows[0].value == Approx(2).epsilon(1e-9));  // 0.4 over 0.2
  std::vector<Record> falls;
  add_line("decay", {4, 3.9, 3.8}, {0.3, 0.5, 0.05}, falls);
  add_line("constant", {4, 3.9, 3.8}, {0.1, 0.1, 0.1}, falls);
  const Contrast none = say(spec, falls);
  CHECK(none.rows.empty());
  REQUIRE(none.problems.size() == 1);
  CHECK_THAT(none.problems[0], Catch::Contains("every difference above 0"));
}

TEST_CASE("contrast: seeds give a statistic each", "[report]") {
  std::vector<Record> records;
  for (int seed = 0; seed < 3; ++seed) {
    std::vector<Record> of_seed;
    add_line("decay", {4, 3.9}, {0.3, 0.3 + 0.1 * seed}, of_seed);
    add_line("constant", {4, 3.9}, {0.2, 0.1}, of_seed);
    for (Record& record : of_seed) {
      record.job = static_cast<uint64_t>(seed);
      record.environment["seed"] = seed;
      record.environment["sweep"] = {{"seed", seed}};
      records.push_back(record);
    }
  }
  ContrastSpec spec = sides("decay", "constant");
  spec.match = {"step"};
  spec.statistic = Statistic::kLargestOverSmallest;
  const Contrast got = say(spec, records);
  REQUIRE(got.rows.size() == 1);
  const Spread& seeds = got.rows[0].spreads.back();
  CHECK(seeds.kind == SpreadKind::kSeeds);
  CHECK(seeds.n == 3);
  CHECK(seeds.mean == Approx(3).epsilon(1e-9));  // 0.2/0.1, 0.3/0.1, 0.4/0.1
  CHECK_FALSE(seeds.is_resampled);
}

TEST_CASE("family: every interval is told how many there are and gets one for all at once",
          "[report]") {
  const Record f = float_loss("main", "s1", 1, {3, 4, 4, 5});
  const std::vector<Record> records = {f, quantized_loss(f, "good", 3, {0.10, 0.11, 0.12, 0.13}),
                                       quantized_loss(f, "good", 4, {0.10, 0.11, 0.12, 0.13}),
                                       quantized_loss(f, "plain", 3, {0.15, 0.15, 0.15, 0.15}),
                                       quantized_loss(f, "plain", 4, {0.15, 0.15, 0.15, 0.15})};
  std::vector<Contrast> contrasts = {say(sides("good", "plain"), records)};
  REQUIRE(contrasts[0].rows.size() == 2);
  mark_family(contrasts);
  const Spread& spread = contrasts[0].rows[0].spreads[0];
  CHECK(spread.comparisons == 2);
  // Bonferroni for 2: t at 97.5 % with three degrees of freedom is 4.176535.
  const double error = 0.01 * std::sqrt(5.0 / 12);
  CHECK(spread.simultaneous->high == Approx(-0.035 + 4.176535 * error).epsilon(1e-6));
  CHECK(*spread.detectable ==
        Approx(quench::detectable_errors(3, 0.95, 0.8) * error).epsilon(1e-12));
  CHECK_THAT(contrasts[0].rows[0].sentence,
             Catch::Contains("; with all 2 comparisons at once [\u2212") &&
                 Catch::Contains("would have been detected in 4 of 5 such samples."));
}

TEST_CASE("findings: the first sentence is the result with its interval", "[report]") {
  const Record f = float_loss("main", "s1", 1, {3, 4, 4, 5});
  const std::vector<Record> records = {f, quantized_loss(f, "good", 3, {0.10, 0.11, 0.12, 0.13}),
                                       quantized_loss(f, "plain", 3, {0.15, 0.15, 0.15, 0.15})};
  std::vector<Contrast> contrasts = {say(sides("good", "plain"), records)};
  mark_family(contrasts);
  const std::vector<std::string> got = findings_of(contrasts, observe(records).all);
  REQUIRE(got.size() == 2);
  CHECK(got[0] ==
        "In this run, at 3 bits, s1, branch main: good loses 0.035 nats per token less to "
        "quantization than plain [\u22120.05554, \u22120.01446 over 4 validation items].");
  CHECK_THAT(got[1], Catch::StartsWith("One training run: "));
  const std::vector<std::string> without = findings_of({}, observe(records).all);
  REQUIRE(without.size() == 2);
  CHECK_THAT(without[0],
             Catch::StartsWith("In this run, at s1: quantized by good bits=3, the model loses 0.12 "
                               "nats per token [") &&
                 Catch::Contains("; by plain bits=3, 0.15 ["));
  CHECK(findings_of({}, {}).empty());
}

TEST_CASE("findings: the number beside an interval is the mean that the interval is of",
          "[report]") {
  std::vector<Record> records;
  for (int seed = 0; seed < 3; ++seed) {  // the first seed is the odd one
    Record f = float_loss("main", "s1", 1, {3, 4, 4, 5});
    f.job = static_cast<uint64_t>(seed);
    f.environment["sweep"] = {{"seed", seed}};
    const double good = seed == 0 ? 0.4 : 0.1 + 0.001 * seed;
    records.insert(records.end(), {f, quantized_loss(f, "good", 3, {good, good, good, good}),
                                   quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})});
  }
  std::vector<Contrast> contrasts = {say(sides("good", "plain"), records)};
  mark_family(contrasts);
  // Differences 0.2, -0.099, -0.098: mean 0.001, deviation 0.1724, 4.303 * 0.1724 / sqrt(3) =
  // 0.428.
  CHECK(contrasts[0].rows[0].value == Approx(0.2));
  const std::vector<std::string> got = findings_of(contrasts, observe(records).all);
  REQUIRE(got.size() == 1);
  CHECK_THAT(got[0], Catch::StartsWith(
                         "In these runs, at 3 bits, s1, branch main: good and plain are not told "
                         "apart; the difference is +0.001 nats per token [\u22120.427"));
  CHECK_THAT(contrasts[0].rows[0].sentence,
             Catch::Contains(" +0.001 nats/token.") &&
                 Catch::Contains("Over 4 validation items, paired: +0.2, ") &&
                 Catch::Contains("Over 3 seeds, paired: +0.001, "));
}

TEST_CASE("findings: what is decided comes first, and a summary counts what is decided",
          "[report]") {
  const Record f = float_loss("main", "s1", 1, {3, 4, 4, 5});
  const std::vector<double> plain = {0.2, 0.2, 0.2, 0.2};
  const std::vector<Record> records = {f,
                                       quantized_loss(f, "good", 2, {0.22, 0.17, 0.21, 0.18}),
                                       quantized_loss(f, "plain", 2, plain),
                                       quantized_loss(f, "good", 3, {0.16, 0.17, 0.18, 0.19}),
                                       quantized_loss(f, "plain", 3, plain),
                                       quantized_loss(f, "good", 4, {0.099, 0.1, 0.101, 0.1}),
                                       quantized_loss(f, "plain", 4, plain)};
  std::vector<Contrast> contrasts = {say(sides("good", "plain"), records)};
  mark_family(contrasts);
  CHECK_THAT(contrasts[0].summary,
             Catch::StartsWith("good against plain: \u0394CE is lower in 1 of 3 pairs (2 before "
                               "correction), not told apart in 2, higher in 0, with all 3 "
                               "comparisons at once; differences from \u22120.1 to "));
  const std::vector<std::string> got = findings_of(contrasts, observe(records).all);
  REQUIRE(got.size() == 5);
  CHECK_THAT(got[0], Catch::StartsWith("In this run, at 4 bits, s1, branch main: good loses 0.1 "
                                       "nats per token less to quantization than plain ["));
  CHECK(got[1] == contrasts[0].summary);
  CHECK_THAT(got[2], Catch::StartsWith("In this run, at 3 bits") &&
                         Catch::EndsWith("], but not with all 3 comparisons at once."));
  CHECK_THAT(got[3],
             Catch::StartsWith("In this run, at 2 bits") && Catch::Contains("are not told apart"));
  CHECK_THAT(got[4], Catch::StartsWith("One training run: "));
  // Where nothing is decided the counts come first.
  const std::vector<Record> open(records.begin(), records.begin() + 5);
  std::vector<Contrast> undecided = {say(sides("good", "plain"), open)};
  for (size_t i = 0; i < 9; ++i) {
    undecided.push_back(undecided.front());
  }
  mark_family(undecided);
  CHECK_THAT(findings_of(undecided, observe(open).all).front(),
             Catch::StartsWith("good against plain: \u0394CE is lower in 0 of 2 pairs"));
}
