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
  // 12 values, runs of 2: six 0, then six 1. Mean 1/2; of the 11 runs five are 0, one 1/2, five 1,
  // so Σ (run − mean)² = 10/4, and 2 · 10/4 / (11 · 10) = 1/22.
  std::vector<double> values(12, 0.0);
  std::fill(values.begin() + 6, values.end(), 1.0);
  const Spread got = item_spread(blocks(12), values);
  CHECK(got.mean == Approx(0.5));
  CHECK(got.run == 2);
  CHECK(*got.standard_error == Approx(std::sqrt(1.0 / 22)).epsilon(1e-13));
  CHECK(got.degrees_of_freedom == Approx(7.5));
  CHECK(got.interval->high ==
        Approx(0.5 + quench::t_quantile_of(7.5, 0.95) * std::sqrt(1.0 / 22)).epsilon(1e-13));
  // As independent values they would claim √(3/11/12) = 0.151 in place of 0.213.
  CHECK(*spread_of(quench::SpreadKind::kItems, values).standard_error ==
        Approx(std::sqrt(3.0 / 11 / 12)).epsilon(1e-12));
}

TEST_CASE("item sample: the mean over documents is weighted by their positions", "[report]") {
  // Ten documents of 1, 2, 1, 2, ... positions; the mean nll of the short ones is 1, of the long
  // ones 2: (5 · 1 + 5 · 4)/15 = 5/3. Rests 1 − 5/3 and 4 − 10/3: Σ of squares
  // 5 (4/9 + 4/9) = 40/9; times 10/9 over 15²: 400/81/225 = 16/729.
  std::vector<double> sizes;
  std::vector<double> sums;
  for (int i = 0; i < 5; ++i) {
    sizes.insert(sizes.end(), {1, 2});
    sums.insert(sums.end(), {1, 4});
  }
  const Spread got = item_spread(documents(sizes), sums);
  CHECK(got.mean == Approx(5.0 / 3).epsilon(1e-14));
  CHECK(*got.standard_error == Approx(4.0 / 27).epsilon(1e-13));
  CHECK(got.degrees_of_freedom == 9);
  CHECK(got.documents == 10);
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
