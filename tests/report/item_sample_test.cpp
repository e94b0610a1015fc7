#include "report/item_sample.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/student_t.hpp"
#include "tests/report/loss_records.hpp"

using quench::common_sample;
using quench::ItemSample;
using quench::Record;
using quench::Spread;
using quench::test::float_loss;

namespace {

ItemSample blocks(size_t count) {
  ItemSample out;
  out.sizes.assign(count, 1.0);
  return out;
}

ItemSample documents(std::vector<double> sizes) {
  ItemSample out;
  out.by_documents = true;
  out.sizes = std::move(sizes);
  return out;
}

}  // namespace

TEST_CASE("item sample: runs are three cube roots long, and six of them fit", "[report]") {
  CHECK(quench::block_run(2) == 1);
  CHECK(quench::block_run(11) == 1);
  CHECK(quench::block_run(12) == 2);
  CHECK(quench::block_run(60) == 10);   // 60/6; three cube roots are 11.7
  CHECK(quench::block_run(113) == 15);  // three cube roots are 14.5
  CHECK(quench::block_run(1000) == 30);
  CHECK(blocks(1000).degrees_of_freedom() == Approx(1.5 * (1000.0 / 30 - 1)));
  CHECK(blocks(10).degrees_of_freedom() == 9);
}

TEST_CASE("item sample: the variance of means of runs, worked by hand", "[report]") {
  // 12 values, runs of 2: of the 11 runs ten are 1/2 and the middle one is 1, so Σ (run − mean)² is
  // 1/4, and 2 · 1/4 / (11 · 10) = 1/220. Neighbours differ but for one pair: no correlation above
  // 0.
  const std::vector<double> values = {0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0};
  const Spread got = item_spread(blocks(12), values);
  CHECK(got.mean == Approx(0.5));
  CHECK(got.run == 2);
  CHECK(*got.standard_error == Approx(std::sqrt(1.0 / 220)).epsilon(1e-13));
  CHECK(got.degrees_of_freedom == Approx(7.5));
  CHECK(got.interval->high ==
        Approx(0.5 + quench::t_quantile_of(7.5, 0.95) * std::sqrt(1.0 / 220)).epsilon(1e-13));
}

TEST_CASE("item sample: runs are of what neighbours do not tell, worked by hand", "[report]") {
  // 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0 without the mean: of 11 neighbours 5 are equal and 6 are
  // not, so r = −1/12, and −1/12 + (1 − 1/3)/12 < 0: no correlation.
  const std::vector<double> apart = {0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0};
  // Runs of 2 are 1/2 but for five: 1, 0, 1, 0, 1, so Σ is 5/4 and the variance 2 · 5/4 / 110.
  CHECK(*item_spread(blocks(12), apart).standard_error ==
        Approx(std::sqrt(1.0 / 44)).epsilon(1e-13));

  // 0 0 0 1 1 1 0 0 0 1 1 1: 8 neighbours are equal, 3 are not: r = 5/12, and with (1 + 5/3)/12 it
  // is φ = 23/36, below 1 − 1/√12. With q = (1 − φ)/2 and s = (1 + φ)/2, eᵢ is −q, −q, s, q, q, −s,
  // −q, −q, s, q, q. Runs of 2 begin with −q, (s − q)/2, (s + q)/2, q, (q − s)/2, −(s + q)/2, −q,
  // (s − q)/2, (s + q)/2, q; the mean of e is s/11.
  const std::vector<double> close = {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
  const double phi = 23.0 / 36;
  const double q = (1 - phi) / 2;
  const double s = (1 + phi) / 2;
  const std::vector<double> runs = {-q, (s - q) / 2, (s + q) / 2, q, (q - s) / 2, -(s + q) / 2,
                                    -q, (s - q) / 2, (s + q) / 2, q};
  double squares = 0;
  for (const double run : runs) {
    squares += (run - s / 11) * (run - s / 11);
  }
  const double variance = 11.0 / 12 * (2 * squares / (10 * 9)) / ((1 - phi) * (1 - phi));
  const Spread got = item_spread(blocks(12), close);
  CHECK(*got.standard_error == Approx(std::sqrt(variance)).epsilon(1e-12));
  CHECK(got.degrees_of_freedom == Approx(7.5));
  // As independent values they would claim √(3/11/12) = 0.151.
  CHECK(*got.standard_error > 0.25);
  CHECK(*spread_of(quench::SpreadKind::kItems, close).standard_error ==
        Approx(std::sqrt(3.0 / 11 / 12)).epsilon(1e-12));
}

TEST_CASE("item sample: a correlation close to 1 is taken for less", "[report]") {
  // Six 0, then six 1: r = 3/4, plus 4/12 more than 1. φ = 1 − 1/√12 makes of ten neighbours
  // ±1/(2√12), of the one in the middle 1 − 1/(2√12); √0.1150238 by the sums as above.
  std::vector<double> values(12, 0.0);
  std::fill(values.begin() + 6, values.end(), 1.0);
  CHECK(*item_spread(blocks(12), values).standard_error == Approx(0.339152).epsilon(1e-5));
  // Without any difference there is nothing to correlate.
  CHECK(*item_spread(blocks(12), std::vector<double>(12, 0.25)).standard_error == 0);
}

TEST_CASE("item sample: the mean over documents is weighted by their positions", "[report]") {
  // Ten documents of 1, 2, 1, 2, ... positions; the mean nll of the short ones is 1, of the long
  // ones 2: (5 · 1 + 5 · 4)/15 = 5/3. Without a short one it is 24/14, without a long one 21/13:
  // 1/21 and 2/39 away, five times each, and 9/10 of the squares. Σ nᵤ² is 25: 225/25 − 1 = 8
  // degrees of freedom.
  std::vector<double> sizes;
  std::vector<double> sums;
  for (int i = 0; i < 5; ++i) {
    sizes.insert(sizes.end(), {1, 2});
    sums.insert(sums.end(), {1, 4});
  }
  const Spread got = item_spread(documents(sizes), sums);
  CHECK(got.mean == Approx(5.0 / 3).epsilon(1e-14));
  CHECK(*got.standard_error ==
        Approx(std::sqrt(0.9 * 5 * (1.0 / (21 * 21) + 4.0 / (39 * 39)))).epsilon(1e-13));
  CHECK(got.degrees_of_freedom == Approx(8).epsilon(1e-14));
  CHECK(got.documents == 10);
  // Equal documents are independent values.
  const Spread equal = item_spread(documents(std::vector<double>(10, 3.0)), sums);
  CHECK(equal.degrees_of_freedom == Approx(9).epsilon(1e-14));
  CHECK(*equal.standard_error ==
        Approx(*spread_of(quench::SpreadKind::kItems, sums).standard_error / 3).epsilon(1e-13));
  CHECK(sample_text(got) == "10 documents");
}

TEST_CASE("item sample: documents count where all records have the same and they are enough",
          "[report]") {
  const std::vector<double> items(20, 4.0);
  Record one = float_loss("main", "s1", 1, items);
  one.details = {
      {"documents",
       {{"scored", std::vector<double>(10, 8.0)}, {"nll", std::vector<double>(10, 32.0)}}}};
  Record two = one;
  const Record* const both[] = {&one, &two};
  CHECK(common_sample(both)->by_documents);
  CHECK(unit_sums(one, *common_sample(both)) == std::vector<double>(10, 32.0));
  two.details["documents"]["scored"][3] = 7;
  CHECK_FALSE(common_sample(both)->by_documents);
  CHECK(common_sample(both)->count() == 20);
  two = one;
  two.details["documents"]["nll"][3] = "much";
  CHECK_FALSE(common_sample(both)->by_documents);
  two = one;
  for (Record* record : {&one, &two}) {  // nine are too few
    record->details["documents"]["scored"].erase(0);
    record->details["documents"]["nll"].erase(0);
  }
  CHECK_FALSE(common_sample(both)->by_documents);
  two.items.pop_back();
  CHECK_FALSE(common_sample(both).has_value());
}

TEST_CASE("item sample: questions are independent, blocks of text are not", "[report]") {
  Record questions = float_loss("main", "s1", 1, std::vector<double>(60, 1.0));
  const Record* const list[] = {&questions};
  CHECK(common_sample(list)->run() == 10);
  questions.unit = "accuracy";
  questions.direction = 1;
  CHECK(common_sample(list)->run() == 1);
}

TEST_CASE("item sample: resamples draw as many units as there are, in runs", "[report]") {
  const ItemSample sample = blocks(60);
  const auto counts = resampled_counts(sample);
  REQUIRE(counts.size() == quench::kResamples);
  std::vector<double> values(60);
  std::iota(values.begin(), values.end(), 0.0);
  double mean = 0;
  for (const std::vector<uint32_t>& one : counts) {
    CHECK(std::accumulate(one.begin(), one.end(), 0u) == 60);
    mean += resampled_mean(sample, values, one) / quench::kResamples;
  }
  CHECK(mean == Approx(29.5).margin(0.3));  // the standard error of the mean of 3999 is 0.1
  CHECK(resampled_counts(sample) == counts);
}

TEST_CASE("spread: quantiles leave out equal shares of the resamples", "[report]") {
  std::vector<double> values(39);
  std::iota(values.begin(), values.end(), 1.0);  // 1 to 39
  const quench::Interval got = quench::quantile_interval(values, 0.95);
  CHECK(got.low == Approx(1));  // rank 0.025 · 40
  CHECK(got.high == Approx(39));
  CHECK(quench::quantile_interval(values, 0.5).low == Approx(10));
}

TEST_CASE("t quantile: the smallest detectable effect is that of tables of power", "[report]") {
  // Cohen's tables and G*Power, two-sided at 5 %, power 80 %: n = 10 needs d = 0.996, n = 34 needs
  // d = 0.495 standard deviations of paired differences; √n of that in standard errors.
  CHECK(quench::detectable_errors(9, 0.95, 0.8) == Approx(0.996 * std::sqrt(10)).epsilon(1e-3));
  CHECK(quench::detectable_errors(33, 0.95, 0.8) == Approx(0.495 * std::sqrt(34)).epsilon(2e-3));
  // Of a normal distribution 1.959964 + 0.841621.
  CHECK(quench::detectable_errors(1e6, 0.95, 0.8) == Approx(2.801585).epsilon(1e-4));
}
