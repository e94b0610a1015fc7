#include "run/grid/shares.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>

#include "core/error.hpp"
#include "tests/run/built_catalog.hpp"
#include "train/recipe.hpp"

using quench::Experiment;
using quench::parse_share;
using quench::Share;
using quench::Shares;

namespace {

std::vector<uint64_t> loads(const std::vector<uint64_t>& costs,
                            const std::vector<uint64_t>& share_of, uint64_t shares) {
  std::vector<uint64_t> out(shares);
  for (size_t i = 0; i < costs.size(); ++i) {
    out.at(share_of.at(i)) += costs[i];
  }
  return out;
}

// `checkpoints` of one model, a metric without corpora.
Experiment experiment_of(size_t job, const std::vector<std::string>& checkpoints) {
  static const quench::PluginDescription metric{};
  Experiment out;
  out.job = job;
  for (const std::string& name : checkpoints) {
    quench::CheckpointCell cell;
    cell.revision = name;
    cell.location = "models/" + name;
    out.checkpoints.push_back(cell);
    out.weights.push_back({out.checkpoints.size() - 1, std::nullopt, {}});
  }
  out.metrics.resize(1);
  out.metrics[0].plugin = &metric;
  return out;
}

Shares shares_of(const std::vector<Experiment>& experiments, uint64_t count) {
  return quench::make_shares(quench::test::built_catalog(), experiments, {}, count);
}

std::vector<std::string> names_of(const std::vector<Experiment>& experiments) {
  std::vector<std::string> out;
  for (const Experiment& experiment : experiments) {
    for (const quench::WeightsCell& weights : experiment.weights) {
      out.push_back(std::to_string(experiment.job) + " " +
                    experiment.checkpoints[weights.checkpoint].revision);
    }
  }
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("share: I/N is read, anything else refused with what was wanted", "[shares]") {
  const Share share = parse_share("2/3");
  CHECK(share.number == 2);
  CHECK(share.of == 3);
  CHECK(parse_share("1/1").of == 1);
  for (const char* wrong : {"0/3", "4/3", "x/3", "3", "/3", "2/", "2/0", "-1/3", "1/3/5", " 1/3",
                            "1/100001", "", "1.5/3", "99999999999999999999/3"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(parse_share(wrong), Catch::Contains("'" + std::string(wrong) + "'") &&
                                              Catch::Contains("wanted I/N"));
  }
}

TEST_CASE("split: no share exceeds another by more than one unit", "[shares]") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const uint64_t shares = 1 + random() % 40;
    std::vector<uint64_t> costs(random() % 700);
    const uint64_t scale = uint64_t{1} << (random() % 40);
    for (uint64_t& cost : costs) {
      cost = random() % 4 == 0 ? random() % scale * 50 : random() % scale;
    }
    const std::vector<uint64_t> loaded = loads(costs, quench::split(costs, shares), shares);
    const uint64_t largest = costs.empty() ? 0 : *std::max_element(costs.begin(), costs.end());
    const auto [least, most] = std::minmax_element(loaded.begin(), loaded.end());
    REQUIRE(*most - *least <= largest);
    const uint64_t total = std::accumulate(costs.begin(), costs.end(), uint64_t{0});
    REQUIRE(std::accumulate(loaded.begin(), loaded.end(), uint64_t{0}) == total);
    // What the bound means for the mean: 10 % above, or one unit.
    const double mean = static_cast<double>(total) / static_cast<double>(shares);
    REQUIRE(static_cast<double>(*most) <=
            std::max(1.1 * mean, mean + static_cast<double>(largest)));
  }
}

TEST_CASE("split: the dearest first, equal units in turn", "[shares]") {
  CHECK(quench::split(std::vector<uint64_t>{1, 2, 3, 4}, 2) == std::vector<uint64_t>{0, 1, 1, 0});
  CHECK(quench::split(std::vector<uint64_t>{7, 7, 7, 7, 7}, 3) ==
        std::vector<uint64_t>{0, 1, 2, 0, 1});
  CHECK(quench::split(std::vector<uint64_t>{0, 0, 0}, 2) == std::vector<uint64_t>{0, 1, 0});
  CHECK(quench::split(std::vector<uint64_t>{}, 2).empty());
}

TEST_CASE("shares: together they are the whole grid, each row in one of them", "[shares]") {
  std::vector<Experiment> experiments;
  for (size_t job = 0; job < 20; ++job) {
    experiments.push_back(experiment_of(job, {"a", "b", "c"}));
  }
  const Names all = names_of(experiments);
  for (const uint64_t count : {1, 2, 7, 60, 61}) {
    CAPTURE(count);
    Names together;
    const Shares shares = shares_of(experiments, count);
    // The last share first: a share does not depend on which ones were asked for before.
    for (uint64_t number = count; number > 0; --number) {
      const Names of_share = names_of(quench::experiments_of(shares, number, experiments));
      CHECK(names_of(quench::experiments_of(shares_of(experiments, count), number, experiments)) ==
            of_share);
      together.insert(together.end(), of_share.begin(), of_share.end());
    }
    CHECK(std::set<std::string>(together.begin(), together.end()).size() == all.size());
    CHECK(together.size() == all.size());
    CHECK(std::is_permutation(together.begin(), together.end(), all.begin()));
  }
}

TEST_CASE("shares: only an experiment that lost rows is a part of one", "[shares]") {
  const std::vector<Experiment> experiments = {experiment_of(0, {"a"}),
                                               experiment_of(1, {"a", "b"})};
  const Shares shares = shares_of(experiments, 2);
  const std::vector<Experiment> first = quench::experiments_of(shares, 1, experiments);
  REQUIRE(names_of(first) == Names{"0 a", "1 b"});
  CHECK_FALSE(first[0].is_share);
  CHECK(first[1].is_share);
}

TEST_CASE("shares: a set of weights with more to do costs more", "[shares]") {
  Experiment experiment = experiment_of(0, {"a", "b", "c", "d"});
  static const quench::PluginDescription quantizer{};
  experiment.quantizers.resize(1);
  experiment.quantizers[0].plugin = &quantizer;
  experiment.quantizers[0].replicates = {4, 0, {1}};  // four draws of checkpoint b alone
  // Cells: a 2, b 5, c 2, d 2.
  const Shares shares = shares_of({experiment}, 2);
  CHECK(shares.units[1].cells == 5);
  CHECK(shares.units[0].cells == 2);
  CHECK(shares.units[1].cost > shares.units[0].cost);
  CHECK(names_of(quench::experiments_of(shares, 1, {experiment})) == Names{"0 b"});
  CHECK(names_of(quench::experiments_of(shares, 2, {experiment})) == Names{"0 a", "0 c", "0 d"});
}

TEST_CASE("shares: what is trained together stays together", "[shares]") {
  // A family that no catalog has cannot be described: its size then counts as unknown.
  static quench::PluginDescription family;
  family.id = "nobody";
  const auto training = std::make_shared<quench::Training>();
  training->recipe.family = &family;
  std::vector<Experiment> experiments;
  for (size_t job = 0; job < 4; ++job) {
    // Jobs 0 and 2 train the same checkpoint, 1 and 3 have theirs for themselves.
    const std::string common = job % 2 == 0 ? "trunk" : "own" + std::to_string(job);
    experiments.push_back(experiment_of(job, {common, "end" + std::to_string(job)}));
    experiments.back().training = training;
  }
  const Shares shares = shares_of(experiments, 3);
  REQUIRE(shares.units.size() == 3);
  CHECK(names_of(quench::experiments_of(shares, 1, experiments)) ==
        Names{"0 trunk", "0 end0", "2 trunk", "2 end2"});
  CHECK(names_of(quench::experiments_of(shares, 2, experiments)) == Names{"1 own1", "1 end1"});
}

TEST_CASE("shares: the id is that of the split", "[shares]") {
  const std::vector<Experiment> three = {experiment_of(0, {"a", "b", "c"})};
  CHECK(shares_of(three, 2).id == shares_of(three, 2).id);
  CHECK(shares_of(three, 2).id != shares_of(three, 3).id);
  CHECK(shares_of(three, 2).id != shares_of({experiment_of(0, {"a", "b", "d"})}, 2).id);
}
