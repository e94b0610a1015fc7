#include "run/manifest/resolve_items.hpp"

#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "core/version.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/run/manifest_folder.hpp"

using quench::Experiment;
using quench::test::ManifestFolder;

namespace {

using Names = std::vector<std::string>;

// A trunk of step10 .. step50 and a fork behind step30: checkpoints 0-4 and 5-6.
struct Tree : ManifestFolder {
  Tree() {
    add_revisions("run", {"step10", "step20", "step30", "step40", "step50"});
    add_revisions("fork", {"step5", "step10"});
  }
  std::string manifest(const std::string& more) const {
    return "checkpoints:\n  branches:\n    trunk: {model: run, revisions: \"step{step}\"}\n"
           "    fork: {model: fork, revisions: \"step{step}\", parent: trunk, offset: {step: 30}}\n"
           "metrics:\n  - template_metric: {corpus: v}\n"
           "corpora: {v: {template_corpus: {}}}\n" +
           more;
  }
};

// "0", "1", or "2=avg0(0,1,2)" for each set of weights.
Names weights(const Experiment& experiment) {
  Names out;
  for (const quench::WeightsCell& cell : experiment.weights) {
    out.push_back(cell.averaging ? fmt::format("{}=avg{}({})", cell.checkpoint, *cell.averaging,
                                               fmt::join(cell.members, ","))
                                 : fmt::format("{}", cell.checkpoint));
  }
  return out;
}

const std::string kCalibrated =
    "calibration: {c: {corpus: v, documents: 2}}\nquantizers:\n  - template_quantizer: {}\n"
    "    calibration: c\n";

}  // namespace

TEST_CASE("manifest: averages stand behind the checkpoint that they end at", "[core][run]") {
  const Tree here;
  const std::string averaging = "averaging:\n  - template_averaging: {window: 2}\n";
  const Experiment all = here.resolve(here.manifest(averaging)).at(0);
  CHECK(weights(all) == Names{"0", "1", "1=avg0(0,1)", "2", "2=avg0(1,2)", "3", "3=avg0(2,3)", "4",
                              "4=avg0(3,4)", "5", "6", "6=avg0(5,6)"});
  REQUIRE(all.averagings.size() == 1);
  CHECK(all.averagings[0].label == "template_averaging window=2");
  CHECK_FALSE(all.averagings[0].keep);
  const Experiment averaged =
      here.resolve(here.manifest(averaging + "    raw: false\n    keep: true\n    label: mean\n"))
          .at(0);
  CHECK(weights(averaged) ==
        Names{"1=avg0(0,1)", "2=avg0(1,2)", "3=avg0(2,3)", "4=avg0(3,4)", "6=avg0(5,6)"});
  CHECK(averaged.averagings[0].label == "mean");
  CHECK(averaged.averagings[0].keep);
}

TEST_CASE("manifest: a list of windows is an axis of the averaging", "[core][run]") {
  const Tree here;
  const Experiment experiment =
      here.resolve(here.manifest("averaging:\n  - template_averaging: {window: [4, 5]}\n")).at(0);
  CHECK(weights(experiment) == Names{"0", "1", "2", "3", "3=avg0(0,1,2,3)", "4", "4=avg0(1,2,3,4)",
                                     "4=avg1(0,1,2,3,4)", "5", "6"});
}

TEST_CASE("manifest: an explicit set has the place of its last member", "[core][run]") {
  const Tree here;
  const Experiment experiment =
      here.resolve(here.manifest("averaging:\n  - template_averaging: {window: 4}\n"
                                 "    of: [fork@last, trunk@step20, fork@step35, trunk@first]\n"))
          .at(0);
  CHECK(weights(experiment) == Names{"0", "0=avg0(6,1,5,0)", "1", "2", "3", "4", "5", "6"});
}

TEST_CASE("manifest: a set names the same checkpoint of many branches at once", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"ing1-step1", "ing1-step2", "ing2-step1", "ing2-step3", "main"});
  const Experiment experiment =
      here.resolve(
              "checkpoints:\n  model: run\n  branches:\n"
              "    \"ing{i}\": {revisions: \"ing{i}-step{step}\"}\n"
              "    main: {revisions: [main]}\n"
              "averaging:\n  - template_averaging: {window: 2}\n    of: [\"ing{i}@last\"]\n"
              "metrics: [template_metric: {corpus: v}]\n"
              "corpora: {v: {template_corpus: {}}}\n")
          .at(0);
  CHECK(weights(experiment) == Names{"0", "1", "2", "3", "3=avg0(1,3)", "4"});
}

TEST_CASE("manifest: replicates stand where they are asked for", "[core][run]") {
  const Tree here;
  const auto replicates = [&](const std::string& text) {
    return here.resolve(here.manifest(kCalibrated + "    replicates: " + text + "\n"))
        .at(0)
        .quantizers.at(0)
        .replicates;
  };
  CHECK(replicates("{draws: 3, jitter: 2}").draws == 3);
  CHECK(replicates("{draws: 3, jitter: 2}").jitter == 2);
  CHECK(replicates("{draws: 3, jitter: 2}").at.empty());
  CHECK(replicates("{draws: 3, at: [first]}").at == std::vector<size_t>{0, 5});
  CHECK(replicates("{draws: 3, at: [last]}").at == std::vector<size_t>{4, 6});
  CHECK(replicates("{draws: 3, at: [forks]}").at == std::vector<size_t>{2});
  CHECK(replicates("{draws: 3, at: [forks, \"trunk@step50\", \"trunk@last\"]}").at ==
        std::vector<size_t>{2, 4});
  const Experiment plain = here.resolve(here.manifest(kCalibrated)).at(0);
  CHECK(plain.quantizers.at(0).replicates.draws == 1);
  CHECK(plain.quantizers[0].replicates.jitter == 0);
}

TEST_CASE("manifest: a sweep over paths is a product, last key fastest", "[core][run]") {
  const Tree here;
  const std::vector<Experiment> points =
      here.resolve(here.manifest(kCalibrated + "sweep:\n  seed: [1, 2]\n"
                                               "  quantizers.0.template_quantizer.bits: [3, 4]\n"));
  REQUIRE(points.size() == 4);
  CHECK(points[1].job == 1);
  CHECK(points[1].seed == 1);
  CHECK(points[1].quantizers.at(0).parameters.at("bits") == 4);
  CHECK(points[1].point ==
        nlohmann::json{{"seed", 1}, {"quantizers.0.template_quantizer.bits", 4}});
  CHECK(points[2].seed == 2);
  CHECK(points[2].quantizers.at(0).parameters.at("bits") == 3);
  CHECK(here.resolve(here.manifest("")).at(0).point.is_null());
  // As `--set sweep.train.seed=[...]` writes it.
  const std::vector<Experiment> inner = here.resolve(here.manifest(
      kCalibrated + "sweep:\n  quantizers: {0: {template_quantizer: {bits: [3, 4]}}}\n"));
  REQUIRE(inner.size() == 2);
  CHECK(inner[1].point == nlohmann::json{{"quantizers.0.template_quantizer.bits", 4}});
}

TEST_CASE("manifest: a sweep over points takes each as it is", "[core][run]") {
  const Tree here;
  const std::vector<Experiment> points = here.resolve(
      here.manifest("sweep:\n  - {seed: 7, dtype: bf16}\n  - {checkpoints.branches.fork.thin: 2}\n"
                    "  - {metrics.0.template_metric: {corpus: v, length: 9}}\n"));
  REQUIRE(points.size() == 3);
  CHECK(points[0].seed == 7);
  CHECK(points[0].dtype.bits == 16);
  CHECK(points[1].seed == 0);
  CHECK(points[1].dtype.bits == 32);
  CHECK(points[2].metrics.at(0).parameters.at("length") == 9);
}

TEST_CASE("manifest: what only the points give need not stand in the rest", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("a", {"step1"});
  here.add_revisions("b", {"step1"});
  const std::vector<Experiment> points = here.resolve(
      "checkpoints: {revisions: \"step{step}\"}\nmetrics: [template_metric: {corpus: v}]\n"
      "corpora: {v: {template_corpus: {}}}\nsweep: {checkpoints.model: [a, b]}\n");
  REQUIRE(points.size() == 2);
  CHECK(points[1].checkpoints.at(0).model == "b");
}

TEST_CASE("manifest: a quantizer's label has what was given, default or not", "[core][run]") {
  const Tree here;
  const auto label = [&](const char* set) {
    return here.resolve(here.manifest(kCalibrated), {set}).at(0).quantizers.at(0).label;
  };
  CHECK(label("quantizers.0.template_quantizer={}") == "template_quantizer");
  CHECK(label("quantizers.0.template_quantizer={bits: 4}") == "template_quantizer bits=4");
}

TEST_CASE("manifest: --set changes lists by index and appends to them", "[core][run]") {
  const Tree here;
  const Experiment changed =
      here.resolve(here.manifest(kCalibrated),
                   {"quantizers.0.template_quantizer.bits=[3,5]",
                    "quantizers+={template_quantizer: {bits: 8}, label: eight}", "seed=4"})
          .at(0);
  REQUIRE(changed.quantizers.size() == 3);
  CHECK(changed.quantizers[1].label == "template_quantizer bits=5");
  CHECK(changed.quantizers[2].label == "eight");
  CHECK(changed.seed == 4);
}

TEST_CASE("manifest: what it requires is looked at before anything else is done", "[core][run]") {
  const Tree here;
  const std::string sha =
      quench::test::built_catalog().require("quantizer", "template_quantizer").sha256;
  const auto required = [&](const std::string& text) {
    return here.problems("requires: " + text + "\n" + here.manifest(""));
  };
  CHECK(required("{quench: \">=0.1\"}").empty());
  CHECK(required("{plugins: {template_quantizer: {version: \">=0.1,<0.2\", sha256: " + sha +
                 "}, metric/template_metric: {}}}")
            .empty());
  CHECK(required("{quench: \">=99\"}") ==
        fmt::format("m.yaml:1:20: requires: quench is {}, wanted >=99", quench::kVersion));
  CHECK(required("{plugins: {template_quantizer: {version: \">0.1\"}}}") ==
        "m.yaml:1:52: requires: plugin template_quantizer is 0.1.0, wanted >0.1");
  CHECK(required("{plugins: {template_quantiser: {}}}") ==
        "m.yaml:1:22: requires: no plugin is called template_quantiser; did you mean "
        "template_quantizer?");
  CHECK_THAT(required("{plugins: {template_quantizer: {sha256: " + std::string(64, '0') + "}}}"),
             Catch::Contains("template_quantizer.so has sha256 " + sha + ", wanted 0000"));
}
