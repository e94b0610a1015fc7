#include "report/contrast.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "report/observation.hpp"
#include "tests/report/loss_records.hpp"

using quench::Contrast;
using quench::contrast_of;
using quench::ContrastRow;
using quench::ContrastSpec;
using quench::Record;
using quench::Selector;
using quench::Spread;
using quench::SpreadKind;
using quench::test::float_loss;
using quench::test::quantized_loss;
using quench::test::replicate;

namespace {

constexpr double kRounding = 1e-12;    // of differences of losses near 4
constexpr double kTOf3 = 4.302652730;  // two degrees of freedom, 95 %
constexpr double kTOf4 = 3.182446305;  // three

Selector named(const std::string& name) {
  Selector out;
  out.name = name;
  out.text = name;
  return out;
}

ContrastSpec spec_of(const std::string& a, const std::string& b) {
  ContrastSpec out;
  out.a = named(a);
  out.b = named(b);
  return out;
}

Contrast judge(const ContrastSpec& spec, const std::vector<Record>& records) {
  static std::vector<Record> kept;  // rows point into it
  kept = records;
  return contrast_of(spec, observe(kept).all);
}

const Spread* find(const ContrastRow& row, SpreadKind kind) {
  for (const Spread& spread : row.spreads) {
    if (spread.kind == kind) {
      return &spread;
    }
  }
  return nullptr;
}

const std::vector<double> kItems = {3, 4, 4, 5};

}  // namespace

TEST_CASE("contrast: blocks are paired, so that their own spread cancels", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  const Contrast got =
      judge(spec_of("good", "plain"), {f, quantized_loss(f, "good", 3, {0.10, 0.11, 0.12, 0.13}),
                                       quantized_loss(f, "plain", 3, {0.15, 0.15, 0.15, 0.15})});
  REQUIRE(got.problems.empty());
  REQUIRE(got.rows.size() == 1);
  const ContrastRow& row = got.rows[0];
  CHECK(row.what == "3 bits, s1, branch main");
  CHECK(row.value == Approx(-0.035).margin(kRounding));
  const Spread* items = find(row, SpreadKind::kItems);
  REQUIRE(items != nullptr);
  CHECK(items->n == 4);
  CHECK(items->mean == Approx(-0.035).margin(kRounding));
  // Differences −0.05, −0.04, −0.03, −0.02: deviation √(5/3) · 0.01.
  CHECK(*items->deviation == Approx(0.01 * std::sqrt(5.0 / 3)).epsilon(1e-9));
  CHECK(items->interval->high == Approx(-0.035 + kTOf4 * 0.01 * std::sqrt(5.0 / 12)).epsilon(1e-8));
  CHECK(find(row, SpreadKind::kDraws) == nullptr);
  CHECK_THAT(row.sentence, Catch::Contains("good costs less, over 4 validation items") &&
                               Catch::Contains("One training run.") &&
                               Catch::Contains("good uses no calibration data.") &&
                               Catch::Contains("plain uses no calibration data."));
}

TEST_CASE("contrast: draws stand against the one value of a method without calibration",
          "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  const auto draw = [&](double delta, uint32_t index) {
    return replicate(quantized_loss(f, "good", 3, {delta, delta, delta, delta}), index, 0);
  };
  const Contrast got =
      judge(spec_of("good", "plain"), {f, draw(0.10, 0), draw(0.12, 1), draw(0.11, 2),
                                       quantized_loss(f, "plain", 3, {0.15, 0.15, 0.15, 0.15})});
  REQUIRE(got.rows.size() == 1);
  const ContrastRow& row = got.rows[0];
  CHECK(row.value == Approx(-0.05).margin(kRounding));  // of draw 0
  const Spread* draws = find(row, SpreadKind::kDraws);
  REQUIRE(draws != nullptr);
  CHECK(draws->n == 3);
  CHECK(draws->mean == Approx(-0.04).margin(kRounding));
  CHECK(*draws->deviation == Approx(0.01).epsilon(1e-9));
  CHECK(draws->interval->low == Approx(-0.04 - kTOf3 * 0.01 / std::sqrt(3.0)).epsilon(1e-8));
  CHECK(find(row, SpreadKind::kJitter) == nullptr);
  CHECK_THAT(row.sentence, Catch::Contains("plain uses no calibration data."));
}

TEST_CASE("contrast: two calibrated methods are paired draw by draw", "[report]") {
  // Each method varies by 0.1 from draw to draw, their difference by 0.001: only pairing sees it.
  const Record f = float_loss("main", "s1", 1, kItems);
  std::vector<Record> records = {f};
  const double both[] = {0.10, 0.20, 0.30};
  for (uint32_t r = 0; r < 3; ++r) {
    const double a = both[r];
    const double b = both[r] + 0.02 + 0.001 * r;
    records.push_back(replicate(quantized_loss(f, "good", 3, {a, a, a, a}), r, 0));
    records.push_back(replicate(quantized_loss(f, "other", 3, {b, b, b, b}), r, 0));
  }
  const Contrast got = judge(spec_of("good", "other"), records);
  REQUIRE(got.rows.size() == 1);
  const Spread* draws = find(got.rows[0], SpreadKind::kDraws);
  REQUIRE(draws != nullptr);
  CHECK(draws->mean == Approx(-0.021).margin(kRounding));
  CHECK(*draws->deviation == Approx(0.001).epsilon(1e-9));
}

TEST_CASE("contrast: draws and jitter are never mixed", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  const auto made = [&](double delta, uint32_t draw, uint32_t jitter) {
    return replicate(quantized_loss(f, "good", 3, {delta, delta, delta, delta}), draw, jitter);
  };
  const Contrast got =
      judge(spec_of("good", "plain"),
            {f, made(0.10, 0, 0), made(0.14, 1, 0), made(0.101, 0, 1), made(0.099, 0, 2),
             quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})});
  REQUIRE(got.rows.size() == 1);
  const Spread* draws = find(got.rows[0], SpreadKind::kDraws);
  const Spread* jitter = find(got.rows[0], SpreadKind::kJitter);
  REQUIRE(draws != nullptr);
  REQUIRE(jitter != nullptr);
  CHECK(draws->n == 2);
  CHECK(draws->mean == Approx(-0.08).margin(kRounding));
  CHECK(jitter->n == 3);
  CHECK(jitter->mean == Approx(-0.10).margin(kRounding));
}

TEST_CASE("contrast: points of a sweep that differ in the seed alone are replicates", "[report]") {
  std::vector<Record> records;
  for (int seed = 0; seed < 3; ++seed) {
    const double of_seed = 0.01 * seed;
    Record f = float_loss("main", "s1", 1, kItems);
    f.job = static_cast<uint64_t>(seed);
    f.environment["seed"] = seed;
    f.environment["sweep"] = {{"seed", seed}};
    records.push_back(f);
    const double a = 0.1 + of_seed;
    records.push_back(quantized_loss(f, "good", 3, {a, a, a, a}));
    records.push_back(quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2}));
  }
  const Contrast seeds = judge(spec_of("good", "plain"), records);
  REQUIRE(seeds.rows.size() == 1);
  const Spread* spread = find(seeds.rows[0], SpreadKind::kSeeds);
  REQUIRE(spread != nullptr);
  CHECK(spread->n == 3);
  CHECK(spread->mean == Approx(-0.09).margin(kRounding));
  CHECK_THAT(seeds.rows[0].sentence, !Catch::Contains("One training run"));
  // Points that differ in anything else stand for themselves.
  for (Record& record : records) {
    record.environment["sweep"] = {{"seed", 0}, {"thin", record.job}};
  }
  const Contrast jobs = judge(spec_of("good", "plain"), records);
  CHECK(jobs.rows.size() == 3);
  for (const ContrastRow& row : jobs.rows) {
    CHECK(find(row, SpreadKind::kSeeds) == nullptr);
  }
}

TEST_CASE("contrast: seeds of the training are replicates, and pairs of seeds are counted",
          "[report]") {
  std::vector<Record> records;
  for (int seed = 0; seed < 2; ++seed) {
    for (int of_training = 0; of_training < 2; ++of_training) {
      Record f = float_loss("main", "s1", 1, kItems);
      f.job = static_cast<uint64_t>(2 * seed + of_training);
      f.environment["sweep"] = {{"seed", seed}, {"train.seed", of_training}};
      records.push_back(f);
      const double a = 0.1 + 0.01 * static_cast<double>(f.job);
      records.push_back(quantized_loss(f, "good", 3, {a, a, a, a}));
      records.push_back(quantized_loss(f, "plain", 3, {0.3, 0.3, 0.3, 0.3}));
    }
  }
  const Contrast got = judge(spec_of("good", "plain"), records);
  REQUIRE(got.rows.size() == 1);
  const Spread* spread = find(got.rows[0], SpreadKind::kSeeds);
  REQUIRE(spread != nullptr);
  CHECK(spread->n == 4);
  CHECK(spread->mean == Approx(-0.185).margin(kRounding));
}

TEST_CASE("contrast: rows say which point of the sweep they are of", "[report]") {
  std::vector<Record> records;
  for (const double peak : {0.001, 0.003}) {
    Record f = float_loss("main", "s1", 1, kItems);
    f.job = peak == 0.001 ? 0 : 1;
    // What is the same everywhere tells no rows apart, and is not said.
    f.environment["sweep"] = {{"train.lr.peak", peak},
                              {"train.optimizer", {{"adamw", {{"betas", {0.9, 0.95}}}}}}};
    records.push_back(f);
    records.push_back(quantized_loss(f, "good", 3, {0.1, 0.1, 0.1, 0.1}));
    records.push_back(quantized_loss(f, "plain", 3, {0.3, 0.3, 0.3, 0.3}));
  }
  const Contrast got = judge(spec_of("good", "plain"), records);
  REQUIRE(got.rows.size() == 2);
  CHECK(got.rows[0].what == "3 bits, s1, branch main, peak 0.001");
  CHECK(got.rows[1].what == "3 bits, s1, branch main, peak 0.003");
}

TEST_CASE("contrast: values of a sweep are told apart by their path, over seeds", "[report]") {
  std::vector<Record> records;
  uint64_t job = 0;
  for (const double decay : {0.1, 1.0}) {
    for (int seed = 0; seed < 3; ++seed) {
      Record f = float_loss("main", "s1", 1, kItems);
      f.job = job++;
      f.environment["seed"] = seed;
      f.environment["sweep"] = {{"seed", seed},
                                {"train.optimizer", {{"adamw", {{"weight_decay", decay}}}}}};
      records.push_back(f);
      const double delta = decay == 1.0 ? 0.1 + 0.01 * seed : 0.3;
      records.push_back(quantized_loss(f, "plain", 3, {delta, delta, delta, delta}));
    }
  }
  const std::string path = "sweep.train.optimizer.adamw.weight_decay";
  ContrastSpec spec;
  spec.a = {"decay 1", "", "", {{path, {1}}}};
  spec.b = {"decay 0.1", "", "", {{path, {0.1}}}};
  const Contrast got = judge(spec, records);
  REQUIRE(got.rows.size() == 1);
  const Spread* spread = find(got.rows[0], SpreadKind::kSeeds);
  REQUIRE(spread != nullptr);
  CHECK(spread->n == 3);
  CHECK(spread->mean == Approx(-0.19).margin(kRounding));
  CHECK(spread->interval->high - spread->mean ==
        Approx(kTOf3 * 0.01 / std::sqrt(3.0)).margin(1e-9));

  // A path that no point sets picks nothing.
  spec.b = {"none there", "", "", {{"sweep.train.lr.peak", {0.1}}}};
  CHECK(judge(spec, records).rows.empty());
}

TEST_CASE("contrast: two choices of a plugin in a sweep are compared whole", "[report]") {
  std::vector<Record> records;
  uint64_t job = 0;
  for (const bool is_sam : {false, true}) {
    for (int seed = 0; seed < 2; ++seed) {
      Record f = float_loss("main", "s1", 1, kItems);
      f.job = job++;
      f.environment["seed"] = seed;
      const nlohmann::json chosen =
          is_sam ? nlohmann::json{{"sam", {{"rho", 0.1}, {"weight_decay", 0.1}}}}
                 : nlohmann::json{{"adamw", {{"betas", {0.9, 0.95}}, {"weight_decay", 0.1}}}};
      f.environment["sweep"] = {{"seed", seed}, {"train.optimizer", chosen}};
      records.push_back(f);
      const double delta = is_sam ? 0.1 : 0.3 + 0.01 * seed;
      records.push_back(quantized_loss(f, "plain", 3, {delta, delta, delta, delta}));
    }
  }
  ContrastSpec spec;
  spec.a = {"sam", "", "", {{"sweep.train.optimizer.sam.rho", {0.1}}}};
  spec.b = {"adamw", "", "", {{"sweep.train.optimizer.adamw.weight_decay", {0.1}}}};
  const Contrast got = judge(spec, records);
  REQUIRE(got.rows.size() == 1);
  const Spread* spread = find(got.rows[0], SpreadKind::kSeeds);
  REQUIRE(spread != nullptr);
  CHECK(spread->n == 2);
  CHECK(spread->mean == Approx(-0.205).margin(kRounding));
  CHECK(got.rows[0].what ==
        "3 bits, s1, plain bits=3, branch main");  // sam's weight_decay is not adamw's
}

TEST_CASE("contrast: a key that one side of a sweep does not give keeps no pair apart",
          "[report]") {
  std::vector<Record> records;
  const auto add = [&](uint64_t job, const nlohmann::json& schedule, double delta) {
    Record f = float_loss("main", "s1", 1, kItems);
    f.job = job;
    f.environment["sweep"] = {{"train.lr", schedule}};
    records.push_back(f);
    records.push_back(quantized_loss(f, "plain", 3, {delta, delta, delta, delta}));
  };
  add(0, {{"schedule", "cosine"}, {"peak", 0.1}}, 0.1);
  add(1, {{"schedule", "wsd"}, {"peak", 0.1}, {"decay_steps", 9}, {"decay", "1-sqrt"}}, 0.4);
  add(2, {{"schedule", "wsd"}, {"peak", 0.2}, {"decay_steps", 9}, {"decay", "1-sqrt"}}, 0.5);
  ContrastSpec spec;
  spec.a = {"cosine", "", "", {{"sweep.train.lr.schedule", {"cosine"}}}};
  spec.b = {
      "root", "", "", {{"sweep.train.lr.decay_steps", {9}}, {"sweep.train.lr.decay", {"1-sqrt"}}}};
  const Contrast got = judge(spec, records);
  REQUIRE(got.rows.size() == 1);  // and not the one of another peak
  CHECK(got.rows[0].what == "3 bits, s1, plain bits=3, branch main, peak 0.1");
  CHECK(got.rows[0].value == Approx(-0.3).margin(kRounding));
}

TEST_CASE("contrast: an interval that holds 0 is not told apart", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  const Contrast got =
      judge(spec_of("good", "plain"), {f, quantized_loss(f, "good", 3, {0.10, 0.20, 0.10, 0.20}),
                                       quantized_loss(f, "plain", 3, {0.16, 0.16, 0.16, 0.16})});
  REQUIRE(got.rows.size() == 1);
  CHECK_THAT(got.rows[0].sentence,
             Catch::Contains("Not told apart from 0 over 4 validation items.") &&
                 !Catch::Contains("costs less"));
}

TEST_CASE("contrast: an averaging is compared at the same checkpoint and method", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  Record averaged = float_loss("main", "s1", 1, {2.9, 3.9, 3.9, 4.9});
  averaged.averaging = {{"id", "lawa"}, {"label", "lawa"}, {"params", {{"window", 5}}}};
  const Contrast got = judge(spec_of("lawa", "raw"),
                             {f, quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2}),
                              quantized_loss(f, "plain", 4, {0.1, 0.1, 0.1, 0.1}), averaged,
                              quantized_loss(averaged, "plain", 3, {0.12, 0.12, 0.12, 0.12}),
                              quantized_loss(averaged, "plain", 4, {0.07, 0.07, 0.07, 0.07})});
  REQUIRE(got.problems.empty());
  REQUIRE(got.rows.size() == 2);
  // ΔCE each against its own float model, not against the other's.
  CHECK(got.rows[0].value == Approx(-0.08).margin(kRounding));
  CHECK(got.rows[1].value == Approx(-0.03).margin(kRounding));
  CHECK_THAT(got.summary,
             Catch::StartsWith("lawa against raw: ΔCE is lower in 2 of 2 pairs, not told "
                               "apart in 0, higher in 0; differences from −0.08 to −0.03 "
                               "nats/token."));
}

TEST_CASE("contrast: sides may have names, and then the method is said once", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  Record averaged = float_loss("main", "s1", 1, {2.9, 3.9, 3.9, 4.9});
  averaged.averaging = {{"id", "lawa"}, {"label", "lawa every=50"}, {"params", {{"window", 5}}}};
  ContrastSpec spec;
  spec.a = {"an average", "", "", {{"averaging", {"lawa"}}, {"quantizer", {"plain"}}}};
  spec.b = {"the end", "", "", {{"averaging", {nullptr}}, {"quantizer", {"plain"}}}};
  const Contrast got =
      judge(spec, {f, quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2}), averaged,
                   quantized_loss(averaged, "plain", 3, {0.1, 0.1, 0.1, 0.1})});
  REQUIRE(got.rows.size() == 1);
  CHECK_THAT(got.rows[0].sentence,
             Catch::StartsWith("an average \u2212 the end, 3 bits, s1, plain") &&
                 Catch::Contains("an average costs less") &&
                 Catch::Contains(" plain uses no calibration data. One training run.") &&
                 !Catch::Contains("the end uses"));
}

TEST_CASE("contrast: branches are compared where they match", "[report]") {
  const Record trunk = float_loss("constant", "s2", 2, kItems);
  const Record fork = float_loss("decay", "d2", 2, {2.8, 3.8, 3.8, 4.8});
  std::vector<Record> records = {trunk, quantized_loss(trunk, "plain", 3, {0.1, 0.1, 0.1, 0.1}),
                                 fork, quantized_loss(fork, "plain", 3, {0.3, 0.3, 0.3, 0.3})};
  ContrastSpec spec = spec_of("decay", "constant");
  spec.match = {"tokens"};
  const Contrast got = judge(spec, records);
  REQUIRE(got.rows.size() == 1);
  CHECK(got.rows[0].value == Approx(0.2).margin(kRounding));
  CHECK(got.rows[0].what == "tokens 200, plain bits=3");
  for (Record& record : records) {
    record.checkpoint["tokens"] = nullptr;
  }
  const Contrast unknown = judge(spec, records);
  CHECK(unknown.rows.empty());
  CHECK(unknown.problems == std::vector<std::string>{"no cell of decay agrees with one of constant "
                                                     "in tokens"});
}

TEST_CASE("contrast: a label that does not begin with its method leaves the method's name to it",
          "[report]") {
  const Record trunk = float_loss("constant", "s2", 2, kItems);
  const Record fork = float_loss("decay", "d2", 2, {2.8, 3.8, 3.8, 4.8});
  std::vector<Record> records = {trunk, quantized_loss(trunk, "plain", 3, {0.1, 0.1, 0.1, 0.1}),
                                 fork, quantized_loss(fork, "plain", 3, {0.3, 0.3, 0.3, 0.3})};
  ContrastSpec spec = spec_of("decay", "constant");
  spec.match = {"tokens", "quantizer"};
  CHECK(judge(spec, records).rows.at(0).what == "tokens 200, plain bits=3");
  for (Record& record : records) {
    if (!record.quantizer.is_null()) {
      record.quantizer["label"] = "coarse";
    }
  }
  CHECK(judge(spec, records).rows.at(0).what == "tokens 200, plain, coarse");
}

TEST_CASE("contrast: several cells of one side each stand against the one of the other",
          "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  Record other = quantized_loss(f, "good", 3, {0.3, 0.3, 0.3, 0.3});
  other.quantizer["params"]["group"] = 64;
  other.quantizer["label"] = "good group=64";
  const Contrast got =
      judge(spec_of("good", "plain"), {f, quantized_loss(f, "good", 3, {0.1, 0.1, 0.1, 0.1}), other,
                                       quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})});
  CHECK(got.problems.empty());
  REQUIRE(got.rows.size() == 2);
  CHECK(got.rows[0].what == "3 bits, s1, branch main, good bits=3");
  CHECK(got.rows[0].value == Approx(-0.1).margin(kRounding));
  CHECK(got.rows[1].what == "3 bits, s1, branch main, good group=64");
  CHECK(got.rows[1].value == Approx(0.1).margin(kRounding));
}

TEST_CASE("contrast: where several cells fit several, none is paired, and a plan can know it",
          "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  Record good = quantized_loss(f, "good", 3, {0.3, 0.3, 0.3, 0.3});
  good.quantizer["params"]["group"] = 64;
  good.quantizer["label"] = "good group=64";
  Record plain = quantized_loss(f, "plain", 3, {0.3, 0.3, 0.3, 0.3});
  plain.quantizer["params"]["sym"] = true;
  plain.quantizer["label"] = "plain sym=true";
  const std::vector<Record> records = {f, quantized_loss(f, "good", 3, {0.1, 0.1, 0.1, 0.1}), good,
                                       quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2}), plain};
  const Contrast got = judge(spec_of("good", "plain"), records);
  CHECK(got.rows.empty());
  REQUIRE(got.problems.size() == 1);
  CHECK(got.problems[0] ==
        "2 cells of good, which differ in label, params.group, fit 2 cells of plain, which differ "
        "in label, params.sym; select one on a side, or add what should be equal to `match`");
  CHECK(faults_of(spec_of("good", "plain"), observe(records).all) == got.problems);
}

TEST_CASE("contrast: on a common axis the first side says which checkpoints count", "[report]") {
  std::vector<Record> records;
  const auto add = [&](const char* branch, const char* revision, int64_t step, double delta) {
    records.push_back(float_loss(branch, revision, step, kItems));
    records.push_back(quantized_loss(records.back(), "plain", 3, {delta, delta, delta, delta}));
  };
  add("constant", "s1", 1, 0.1);
  add("constant", "s2", 2, 0.2);
  add("constant", "s3", 3, 0.3);
  add("decay", "d1", 1, 0.5);
  add("decay", "d2", 2, 0.6);
  ContrastSpec spec = spec_of("decay", "constant");
  spec.match = {"step"};
  spec.at = "last";
  const Contrast got = judge(spec, records);  // the last of the constant branch is step 3
  REQUIRE(got.rows.size() == 1);
  CHECK(got.rows[0].what == "step 2, plain bits=3");
  CHECK(got.rows[0].value == Approx(0.4).margin(kRounding));
}

TEST_CASE("contrast: losses can be compared in place of what quantization adds", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  Record averaged = float_loss("main", "s1", 1, {2.9, 3.9, 3.8, 4.9});
  averaged.averaging = {{"id", "lawa"}, {"label", "lawa"}, {"params", {{"window", 5}}}};
  ContrastSpec spec = spec_of("lawa", "raw");
  spec.of_loss = true;
  const Contrast got =
      judge(spec, {f, quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2}), averaged,
                   quantized_loss(averaged, "plain", 3, {0.25, 0.25, 0.25, 0.25})});
  REQUIRE(got.rows.size() == 1);
  // Items −0.05, −0.05, −0.15, −0.05: mean −0.075, deviation 0.05.
  CHECK(got.rows[0].value == Approx(-0.075).margin(kRounding));
  const Spread* items = find(got.rows[0], SpreadKind::kItems);
  REQUIRE(items != nullptr);
  CHECK(*items->deviation == Approx(0.05).margin(1e-9));
  CHECK_THAT(got.rows[0].sentence, Catch::Contains("quantized loss \u22120.075 nats/token"));
}

TEST_CASE("contrast: values of another metric are compared, of float models and over seeds",
          "[report]") {
  std::vector<Record> records;
  const auto add = [&](const char* branch, const char* revision, int64_t seed, double trace) {
    Record record = float_loss(branch, revision, 1, {});
    record.metric = "hessian/trace";
    record.label = "curvature";
    record.unit = "nats/token";
    record.value = trace;
    record.environment["sweep"] = {{"seed", seed}};
    records.push_back(record);
  };
  for (int64_t seed = 0; seed < 3; ++seed) {
    const auto s = static_cast<double>(seed);
    add("constant", "c", seed, 600 + 10 * s);
    add("decay", "d", seed, 800 + 20 * s);
  }
  const Record f = float_loss("decay", "d", 1, kItems);  // losses do not enter
  records.push_back(f);
  records.push_back(quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2}));
  ContrastSpec spec = spec_of("decay", "constant");
  spec.match = {"step"};
  for (const char* name : {"hessian/trace", "curvature/trace"}) {
    spec.of_metric = name;
    const Contrast got = judge(spec, records);
    CHECK(got.problems.empty());
    REQUIRE(got.rows.size() == 1);
    // Over seeds 200, 210, 220: mean 210, deviation 10.
    CHECK(got.rows[0].value == Approx(200).margin(kRounding));
    const Spread* seeds = find(got.rows[0], SpreadKind::kSeeds);
    REQUIRE(seeds != nullptr);
    CHECK(seeds->n == 3);
    CHECK(seeds->mean == Approx(210).margin(kRounding));
    CHECK(seeds->interval->low == Approx(210 - kTOf3 * 10 / std::sqrt(3.0)).margin(1e-6));
    CHECK_THAT(
        got.rows[0].sentence,
        Catch::Contains(std::string("step 1, curvature: ") + name + " +210 nats/token") &&
            Catch::EndsWith(std::string("constant has the lower ") + name + ", over 3 seeds."));
    CHECK(to_json(got)["of"] == name);
  }
  spec.of_metric = "hessian/rank";
  CHECK(judge(spec, records).problems ==
        std::vector<std::string>{"no finished value is of hessian/rank"});
}

TEST_CASE("contrast: branches that are models of their own are compared", "[report]") {
  std::vector<Record> records;
  for (const char* size : {"small", "large"}) {
    Record f = float_loss(size, "main", 1, kItems);
    f.checkpoint["model"] = std::string("hf://org/") + size;
    records.push_back(f);
    const double delta = std::string(size) == "small" ? 0.3 : 0.1;
    records.push_back(quantized_loss(f, "plain", 3, {delta, delta, delta, delta}));
  }
  const Contrast got = judge(spec_of("large", "small"), records);
  REQUIRE(got.rows.size() == 1);
  CHECK(got.rows[0].value == Approx(-0.2).margin(kRounding));
}

TEST_CASE("contrast: an average is compared with every member, and a missing one is named",
          "[report]") {
  std::vector<Record> records;
  for (int64_t step = 1; step <= 3; ++step) {
    records.push_back(float_loss("main", "s" + std::to_string(step), step, kItems));
    const double delta = 0.1 * static_cast<double>(step);
    records.push_back(quantized_loss(records.back(), "plain", 3, {delta, delta, delta, delta}));
  }
  Record averaged = float_loss("main", "s3", 3, kItems);
  averaged.averaging = {{"id", "soup"},
                        {"label", "soup"},
                        {"params", nlohmann::json::object()},
                        {"members", {"s1", "s3", "s9"}}};
  records.push_back(averaged);
  records.push_back(quantized_loss(averaged, "plain", 3, {0.2, 0.2, 0.2, 0.2}));
  ContrastSpec spec;
  spec.a = named("soup");
  spec.b = named("members");
  spec.b_is_members = true;
  const Contrast got = judge(spec, records);
  REQUIRE(got.rows.size() == 2);
  CHECK(got.rows[0].what == "3 bits, plain bits=3, s3, member s1");
  CHECK(got.rows[0].value == Approx(0.1).margin(kRounding));
  CHECK(got.rows[1].what == "3 bits, plain bits=3, s3, member s3");
  CHECK(got.rows[1].value == Approx(-0.1).margin(kRounding));
  CHECK(got.problems ==
        std::vector<std::string>{"soup at s3: its member s9 is not measured with plain bits=3"});
}

TEST_CASE("contrast: members of one name on several branches are told apart by their weights",
          "[report]") {
  std::vector<Record> records;
  for (int i = 1; i <= 3; ++i) {
    Record f = float_loss("fork" + std::to_string(i), "s4", 4, kItems);
    f.parts = {{"weights", "content " + std::to_string(i)}};
    const double delta = 0.1 * i;
    records.push_back(f);
    records.push_back(quantized_loss(f, "plain", 3, {delta, delta, delta, delta}));
  }
  Record averaged = float_loss("fork3", "s4", 4, kItems);
  averaged.parts = {{"averaging", {{"members", {"content 1", "content 2", "content 3"}}}}};
  averaged.averaging = {{"id", "soup"},
                        {"label", "soup"},
                        {"params", nlohmann::json::object()},
                        {"members", {"s4", "s4", "s4"}}};
  records.push_back(averaged);
  records.push_back(quantized_loss(averaged, "plain", 3, {0.5, 0.5, 0.5, 0.5}));
  ContrastSpec spec;
  spec.a = named("soup");
  spec.b = named("members");
  spec.b_is_members = true;
  const Contrast got = judge(spec, records);
  REQUIRE(got.problems.empty());
  std::map<std::string, double> rows;
  for (const auto& row : got.rows) {
    rows[row.what] = row.value;
  }
  REQUIRE(rows.size() == 3);
  CHECK(rows.at("3 bits, plain bits=3, s4, member s4 of fork1") == Approx(0.4).margin(kRounding));
  CHECK(rows.at("3 bits, plain bits=3, s4, member s4 of fork2") == Approx(0.3).margin(kRounding));
  CHECK(rows.at("3 bits, plain bits=3, s4, member s4 of fork3") == Approx(0.2).margin(kRounding));
}

TEST_CASE("contrast: a name that nothing has, or two things have, is told", "[report]") {
  const Record f = float_loss("good", "s1", 1, kItems);
  const std::vector<Record> records = {f, quantized_loss(f, "good", 3, {0.1, 0.1, 0.1, 0.1}),
                                       quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})};
  CHECK(judge(spec_of("godo", "plain"), records).problems ==
        std::vector<std::string>{
            "no quantizer, averaging or branch with finished values is called godo"});
  CHECK(judge(spec_of("good", "plain"), records).problems ==
        std::vector<std::string>{
            "good is the name of a quantizer and of a branch; write {quantizer: good}"});
  ContrastSpec meant = spec_of("good", "plain");
  meant.a.text.clear();
  meant.a.conditions = {{"quantizer", {"good"}}};
  CHECK(judge(meant, records).rows.size() == 1);
}

TEST_CASE("contrast: values of different machines, types and corpora are not subtracted",
          "[report]") {
  const char* where = GENERATE("device", "dtype", "isa", "corpora");
  CAPTURE(where);
  const Record f = float_loss("main", "s1", 1, kItems);
  Record q = quantized_loss(f, "good", 3, {0.1, 0.1, 0.1, 0.1});
  if (where == std::string("corpora")) {
    q.details["corpora"] = {{"corpus", {{"fingerprint", "other"}}}};
  } else {
    q.environment[where] = "other";
  }
  const std::vector<Record> records = {f, q, quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})};
  const quench::Observations got = observe(records);
  REQUIRE(got.all.size() == 3);
  CHECK(got.all[1].floating == nullptr);
  CHECK(got.all[2].floating == &records[0]);
  CHECK(got.notes.size() == 1);
}

TEST_CASE("contrast: texts under one label are neither averaged nor compared", "[report]") {
  std::vector<Record> records;
  for (int seed = 0; seed < 2; ++seed) {  // the corpus was edited between the seeds
    const std::string content = seed == 0 ? "aaaaaaaa0" : "bbbbbbbb0";
    Record f = float_loss("main", "s1", 1, kItems);
    f.job = static_cast<uint64_t>(seed);
    f.environment["sweep"] = {{"seed", seed}};
    f.label = "validation_loss block=64";
    f.details = {{"corpora", {{"corpus", {{"name", "text"}, {"fingerprint", content}}}}}};
    f.parts = {{"metric",
                {{"id", "validation_loss"},
                 {"params", {{"block", 64}}},
                 {"corpora", {{"corpus", {{"files", content}}}}}}}};
    records.insert(records.end(), {f, quantized_loss(f, "good", 3, {0.1, 0.1, 0.1, 0.1}),
                                   quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})});
  }
  const quench::Observations got = observe(records);
  CHECK(got.all[0].text == "text aaaaaaaa");
  CHECK(got.all[3].text == "text bbbbbbbb");
  CHECK(got.all[0].cell != got.all[3].cell);
  CHECK(got.notes ==
        std::vector<std::string>{"validation_loss block=64 has values of several texts, which are "
                                 "neither compared nor averaged: 3 of text aaaaaaaa, 3 of text "
                                 "bbbbbbbb."});
  const Contrast contrast = judge(spec_of("good", "plain"), records);
  REQUIRE(contrast.rows.size() == 2);
  for (const auto& row : contrast.rows) {
    CHECK(find(row, SpreadKind::kSeeds) == nullptr);
    CHECK_THAT(row.what, Catch::Contains("text aaaaaaaa") || Catch::Contains("text bbbbbbbb"));
  }
  // The same text under another name is one text.
  for (size_t i = 3; i < 6; ++i) {
    records[i].parts = records[0].parts;
    records[i].details["corpora"]["corpus"]["name"] = "held_out";
  }
  const Contrast one = judge(spec_of("good", "plain"), records);
  REQUIRE(one.rows.size() == 1);
  CHECK(find(one.rows[0], SpreadKind::kSeeds) != nullptr);
}

TEST_CASE("contrast: as JSON it has differences, spreads and sentences", "[report]") {
  const Record f = float_loss("main", "s1", 1, kItems);
  Record q = quantized_loss(f, "good", 3, {0.10, 0.11, 0.12, 0.13});
  q.details["bits_per_byte"] = q.value.get<double>() * 0.25;  // a quarter of a bit per nat
  const Contrast got =
      judge(spec_of("good", "plain"), {f, q, quantized_loss(f, "plain", 3, {0.2, 0.2, 0.2, 0.2})});
  const nlohmann::json json = to_json(got);
  REQUIRE(json.at("rows").size() == 1);
  const nlohmann::json& row = json.at("rows")[0];
  CHECK(row.at("difference").get<double>() == Approx(-0.085).margin(kRounding));
  CHECK(row.at("bits_per_byte").get<double>() == Approx(-0.085 / 4).margin(kRounding));
  CHECK(row.at("unit") == "nats/token");
  CHECK(row.at("spreads")[0].at("kind") == "items");
  CHECK(row.at("spreads")[0].at("n") == 4);
}
