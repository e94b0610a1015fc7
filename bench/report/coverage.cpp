// report_coverage [MEANS OTHERS]: how often the report's 95 % intervals hold the true value, over
// so many synthetic trajectories each. Items depend on their neighbours: an autoregressive series
// with coefficient φ, or documents that share an effect.
//
// report_coverage values: numbers of the report's functions on fixed inputs, as JSON, for
// bench/peers/report_statistics.py.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "report/contrast.hpp"
#include "report/family.hpp"
#include "report/formulas.hpp"
#include "report/item_sample.hpp"
#include "report/student_t.hpp"

namespace quench {

namespace {

using Values = std::vector<double>;

class Noise {
 public:
  double normal() { return normal_(engine_); }
  // Neighbours correlate with φ; variance 1.
  Values series(size_t count, double phi) {
    Values out(count);
    double last = normal();
    for (double& value : out) {
      last = phi * last + std::sqrt(1 - phi * phi) * normal();
      value = last;
    }
    return out;
  }
  // Positions of documents: geometric with this mean, at least 1.
  size_t length(double mean) { return 1 + std::geometric_distribution<size_t>(1 / mean)(engine_); }

 private:
  std::mt19937_64 engine_{20261123};
  std::normal_distribution<double> normal_;
};

bool holds(const Spread& spread, double truth) {
  return spread.interval && !spread.interval->excludes(truth);
}

void print(const std::string& interval, const std::string& data, size_t hits, size_t of) {
  fmt::print("| {} | {} | {} | {:.1f} % |\n", interval, data, of,
             100.0 * static_cast<double>(hits) / static_cast<double>(of));
  std::fflush(stdout);
}

void cover_blocks(size_t runs, Noise& noise) {
  for (const size_t count : {60, 113, 500}) {
    for (const double phi : {0.0, 0.3, 0.5, 0.7}) {
      ItemSample sample;
      sample.sizes.assign(count, 1.0);
      size_t hits = 0;
      size_t as_independent = 0;
      for (size_t i = 0; i < runs; ++i) {
        const Values values = noise.series(count, phi);
        hits += holds(item_spread(sample, values), 0);
        as_independent += holds(spread_of(SpreadKind::kItems, values), 0);
      }
      const std::string data = fmt::format("{} blocks, φ = {}", count, phi);
      print(fmt::format("mean, runs of {}", sample.run()), data, hits, runs);
      print("mean, blocks taken as independent", data, as_independent, runs);
    }
  }
}

void cover_documents(size_t runs, Noise& noise) {
  for (const size_t count : {12, 40, 200}) {
    size_t hits = 0;
    for (size_t i = 0; i < runs; ++i) {
      ItemSample sample;
      sample.by_documents = true;
      Values sums;
      for (size_t d = 0; d < count; ++d) {
        const size_t length = noise.length(20);
        const double effect = noise.normal();  // as large as the noise of one position
        double sum = 0;
        for (size_t t = 0; t < length; ++t) {
          sum += effect + noise.normal();
        }
        sample.sizes.push_back(static_cast<double>(length));
        sums.push_back(sum);
      }
      hits += holds(item_spread(sample, sums), 0);
    }
    print("mean, documents", fmt::format("{} documents of about 20 positions", count), hits, runs);
  }
}

void cover_replicates(size_t runs, Noise& noise) {
  for (const size_t count : {3, 5}) {
    size_t hits = 0;
    for (size_t i = 0; i < runs; ++i) {
      hits += holds(spread_of(SpreadKind::kSeeds, noise.series(count, 0)), 0);
    }
    print("mean, seeds or draws", fmt::format("{} seeds", count), hits, runs);
  }
  size_t at_once = 0;
  size_t each = 0;
  for (size_t i = 0; i < runs; ++i) {  // twelve comparisons with the same blocks
    ItemSample sample;
    sample.sizes.assign(113, 1.0);
    std::vector<Contrast> family(1);
    for (int row = 0; row < 12; ++row) {
      family[0].rows.emplace_back();
      family[0].rows.back().spreads = {item_spread(sample, noise.series(113, 0.3))};
    }
    mark_family(family);
    bool all = true;
    bool all_plain = true;
    for (const ContrastRow& row : family[0].rows) {
      all = all && !row.spreads[0].simultaneous->excludes(0);
      all_plain = all_plain && !row.spreads[0].interval->excludes(0);
    }
    at_once += all;
    each += all_plain;
  }
  print("all 12 at once, corrected", "113 blocks, φ = 0.3", at_once, runs);
  print("all 12 at once, not corrected", "113 blocks, φ = 0.3", each, runs);
}

// Losses along a trajectory: the float loss falls, the cost of quantization grows by `slope` a
// step. Blocks have levels of their own, and every cost has noise that depends on its neighbours.
struct Trajectory {
  std::string branch;
  Values losses;
  Values costs;
};

void add_records(const Trajectory& line, const Values& levels, Noise& noise,
                 std::vector<Record>& out) {
  for (size_t i = 0; i < line.losses.size(); ++i) {
    Record record;
    const auto step = static_cast<int64_t>(i + 1);
    record.checkpoint = {{"model", "m"},
                         {"revision", line.branch + std::to_string(step)},
                         {"branch", line.branch},
                         {"step", step}};
    record.metric = "validation_loss";
    record.unit = "nats/token";
    record.direction = -1;
    const Values wobble = noise.series(levels.size(), 0.3);
    const Values rest = noise.series(levels.size(), 0.3);
    Record quantized = record;
    double mean = 0;
    double mean_quantized = 0;
    const auto count = static_cast<double>(levels.size());
    for (size_t b = 0; b < levels.size(); ++b) {
      record.items.push_back(line.losses[i] + 0.3 * levels[b] + 0.02 * wobble[b]);
      quantized.items.push_back(record.items[b] + line.costs[i] + 0.02 * rest[b]);
      mean += record.items[b] / count;
      mean_quantized += quantized.items[b] / count;
    }
    record.value = mean;
    quantized.value = mean_quantized;
    quantized.quantizer = {
        {"id", "q"}, {"params", {{"bits", 3}}}, {"label", "q bits=3"}, {"calibration", nullptr}};
    out.push_back(record);
    out.push_back(quantized);
  }
}

void cover_statistic(const std::string& name, const ContrastSpec& spec,
                     const std::vector<Trajectory>& lines, double truth, size_t runs,
                     Noise& noise) {
  size_t hits = 0;
  size_t made = 0;
  for (size_t i = 0; i < runs; ++i) {
    std::vector<Record> records;
    const Values levels = noise.series(113, 0.5);
    for (const Trajectory& line : lines) {
      add_records(line, levels, noise, records);
    }
    const Observations observations = observe(records);
    const Contrast got = contrast_of(spec, observations.all);
    if (got.rows.size() == 1 && !got.rows[0].spreads.empty()) {
      ++made;
      hits += holds(got.rows[0].spreads[0], truth);
    }
  }
  if (made > 0) {
    print(name, fmt::format("113 blocks, φ = 0.3; {} of {} had an interval", made, runs), hits,
          made);
  }
}

ContrastSpec spec_of(const std::string& a, const std::string& b, Statistic statistic) {
  ContrastSpec out;
  out.a.name = out.a.text = a;
  out.b.name = out.b.text = b;
  out.statistic = statistic;
  return out;
}

void cover_statistics(size_t runs, Noise& noise) {
  const Trajectory decay = {"decay",
                            {3.80, 3.77, 3.74, 3.71, 3.68, 3.65, 3.62, 3.59},
                            {0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.11}};
  const Trajectory constant = {"constant",
                               {3.82, 3.80, 3.78, 3.76, 3.74, 3.72, 3.70, 3.68},
                               {0.03, 0.034, 0.038, 0.042, 0.046, 0.05, 0.054, 0.058}};
  ContrastSpec equal = spec_of("decay", "constant", Statistic::kDifference);
  equal.at_equal_loss = true;
  // At 3.68, where `constant` ends: 0.08 − 0.058.
  cover_statistic("difference at equal float loss", equal, {decay, constant}, 0.022, runs, noise);
  ContrastSpec slopes = spec_of("decay", "constant", Statistic::kSlopeRatio);
  slopes.over = "step";
  cover_statistic("ratio of slopes", slopes, {decay, constant}, 2.5, runs, noise);
  ContrastSpec largest = spec_of("decay", "constant", Statistic::kLargestOverSmallest);
  largest.match = {"step"};
  cover_statistic("largest over smallest", largest, {decay, constant}, 0.052 / 0.01, runs, noise);
  ContrastSpec rank = spec_of("decay", "", Statistic::kRankCorrelation);
  rank.over = "step";
  const Trajectory uneven = {
      "decay", decay.losses, {0.04, 0.07, 0.05, 0.08, 0.06, 0.11, 0.09, 0.10}};
  const double truth =
      *rank_correlation(Values{1, 2, 3, 4, 5, 6, 7, 8}, std::span<const double>(uneven.costs));
  cover_statistic("rank correlation with the step", rank, {uneven}, truth, runs, noise);
}

nlohmann::json spread_values(const ItemSample& sample, const Values& values) {
  const Spread got = item_spread(sample, values);
  return {{"mean", got.mean},
          {"stderr", *got.standard_error},
          {"df", got.degrees_of_freedom},
          {"low", got.interval->low},
          {"high", got.interval->high}};
}

// Inputs and what the report makes of them.
void print_values() {
  nlohmann::json out;
  for (const double df : {1.0, 2.0, 4.5, 9.0, 29.0, 112.0}) {
    for (const double confidence : {0.95, 0.99, 1 - 0.05 / 12}) {
      out["t"].push_back(
          {{"df", df}, {"confidence", confidence}, {"value", t_quantile_of(df, confidence)}});
    }
    out["detectable"].push_back({{"df", df}, {"value", detectable_errors(df, 0.95, 0.8)}});
  }
  Noise noise;
  for (const size_t count : {10, 60, 113, 500}) {
    ItemSample sample;
    sample.sizes.assign(count, 1.0);
    const Values values = noise.series(count, 0.4);
    out["blocks"].push_back(
        {{"values", values}, {"run", sample.run()}, {"got", spread_values(sample, values)}});
    ItemSample documents;
    documents.by_documents = true;
    for (size_t d = 0; d < count; ++d) {
      documents.sizes.push_back(static_cast<double>(noise.length(20)));
    }
    out["documents"].push_back(
        {{"sums", values}, {"sizes", documents.sizes}, {"got", spread_values(documents, values)}});
    Values other = noise.series(count, 0.4);
    other[3] = other[4];  // a tie
    out["pairs"].push_back({{"x", values},
                            {"y", other},
                            {"rank_correlation", *rank_correlation(values, other)},
                            {"slope", *slope(values, other)}});
  }
  fmt::print("{}\n", out.dump());
}

}  // namespace

}  // namespace quench

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == "values") {
    quench::print_values();
    return 0;
  }
  const size_t means = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 10000;
  const size_t others = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 500;
  quench::Noise noise;
  fmt::print("| interval | data | simulations | held the true value |\n|---|---|---|---|\n");
  quench::cover_blocks(means, noise);
  quench::cover_documents(means, noise);
  quench::cover_replicates(means, noise);
  quench::cover_statistics(others, noise);
}
