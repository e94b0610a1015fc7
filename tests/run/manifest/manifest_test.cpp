#include "run/manifest/manifest.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/support/bounded.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::Manifest;

namespace {

// What is wrong with a manifest's structure, without the folder of the file.
std::string problems_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  const quench::test::TemporaryDir folder;
  const auto file = folder.write("m.yaml", text);
  return quench::test::message_of(
      [&] { quench::load_manifest(file, sets).problems.throw_if_any(); }, folder.path());
}

Manifest read(const std::string& text, const std::vector<std::string>& sets = {}) {
  const quench::test::TemporaryDir folder;
  return quench::load_manifest(folder.write("some-name.yaml", text), sets);
}

const std::string kSound = "checkpoints: {model: m}\nmetrics: [loss]\n";  // two lines

}  // namespace

TEST_CASE("manifest: the smallest one has defaults for the rest", "[config]") {
  const Manifest manifest = read(kSound);
  CHECK(manifest.problems.empty());
  CHECK(manifest.name == "some-name");
  CHECK(manifest.seed == 0);
  CHECK(manifest.dtype.value == "float32");
  CHECK(manifest.device.value == "cpu");
  REQUIRE(manifest.checkpoints.branches.size() == 1);
  CHECK(manifest.checkpoints.branches[0].model.value == "m");
  CHECK(manifest.quantizers.empty());
  REQUIRE(manifest.metrics.size() == 1);
  CHECK(manifest.metrics[0].id == "loss");
}

TEST_CASE("manifest: every part arrives where it belongs", "[config]") {
  const Manifest manifest = read(
      "name: n\nseed: 7\ndtype: bf16\ndevice: cuda:0\n"
      "checkpoints: {model: m, tokenizer: t, revisions: \"step{step}\"}\n"
      "calibration:\n"
      "  c: {corpus: x, sequences: 4, length: 8}\n"
      "  d: {corpus: x, documents: 9, packing: none}\n"
      "quantizers:\n  - q: {bits: 3}\n    label: mine\n    calibration: c\n"
      "metrics:\n  - loss: {block: 4}\n"
      "corpora: {x: {text: {path: p}}}\n");
  CHECK(manifest.problems.empty());
  CHECK(manifest.seed == 7);
  CHECK(manifest.checkpoints.branches.at(0).pattern == "step{step}");
  CHECK(manifest.checkpoints.tokenizer.value == "t");
  REQUIRE(manifest.calibrations.size() == 2);
  CHECK(manifest.calibrations[0].packing == "concat");
  CHECK(manifest.calibrations[0].sequences == 4);
  CHECK(manifest.calibrations[1].documents == 9);
  CHECK(manifest.quantizers.at(0).label == "mine");
  CHECK(manifest.quantizers[0].calibration.value == "c");
  CHECK(manifest.quantizers[0].parameters.find("bits")->scalar == "3");
  CHECK(manifest.corpora.at(0).id == "text");
}

TEST_CASE("manifest: --set is applied before anything is checked", "[config]") {
  const Manifest manifest = read("checkpoints: {model: old}\nmetrics: [loss]\n",
                                 {"checkpoints.model=new", "seed=3", "name=\"010\""});
  CHECK(manifest.checkpoints.branches.at(0).model.value == "new");
  CHECK(manifest.seed == 3);
  CHECK(manifest.name == "010");
  CHECK(problems_of(kSound, {"seed=-1"}) ==
        "--set #1: manifest: `seed`: got -1, wanted 0..4611686018427387904");
  CHECK(problems_of(kSound, {"name=n", "seed"}) ==
        "--set #2: got `seed`, wanted a.b=value or a.b+=value");
  CHECK(problems_of(kSound, {"=3"}) == "--set #1: got `=3`, wanted a.b=value or a.b+=value");
}

TEST_CASE("manifest: a sweep leaves what its points are to them", "[config]") {
  const Manifest manifest =
      read("checkpoints: {}\nsweep: {checkpoints.model: [a, b], seed: [1, 2, 3]}\nwibble: 1\n");
  CHECK(manifest.problems.empty());
  REQUIRE(manifest.sweep.size() == 6);
  const Manifest point = quench::manifest_at(manifest, 4);
  CHECK(point.seed == 2);
  CHECK(point.resolved.find("sweep") == nullptr);
  CHECK(point.checkpoints.branches.at(0).model.value == "b");
  CHECK(quench::test::message_of([&] { point.problems.throw_if_any(); }).find("wibble") !=
        std::string::npos);
}

TEST_CASE("manifest: what a report is made of is kept as it is written", "[config]") {
  const Manifest manifest = read(kSound + "report: {figures: [a], contrasts: [b]}\n");
  CHECK(manifest.problems.empty());
  CHECK(manifest.report.find("contrasts")->items.at(0).scalar == "b");
  CHECK(read(kSound).report.is_null());
}

TEST_CASE("manifest: all problems come at once, in the order of the file", "[config]") {
  CHECK(problems_of("seed: x\n"
                    "checkpoints: {model: train, wibble: 1}\n"
                    "metric: [loss]\n"
                    "quantizers: [q, [r]]\n") ==
        "m.yaml:1:1: manifest: `metrics` is missing\n"
        "m.yaml:1:7: manifest: `seed`: got the text \"x\", wanted a whole number\n"
        "m.yaml:2:14: checkpoints: `model: train` without a section `train`\n"
        "m.yaml:2:29: checkpoints: unknown key `wibble`; known are branches, model, config, "
        "family, tokens_per_step, lr, phases, tokenizer, revisions, pattern, thin, match, mark\n"
        "m.yaml:3:1: manifest: unknown key `metric`; did you mean `metrics`?\n"
        "m.yaml:4:17: quantizers: got a list, wanted `- id: {parameters}`");
}

TEST_CASE("manifest: of very many problems the first are told, and at once", "[config]") {
  std::string text = kSound;
  for (int i = 0; i < 20'000; ++i) {
    text += "unknown" + std::to_string(i) + ": 1\n";
  }
  CHECK(quench::test::message_within(300, [&] {
          const std::string message = problems_of(text);
          const auto lines = 1 + std::count(message.begin(), message.end(), '\n');
          throw std::runtime_error(std::to_string(lines) + message.substr(message.rfind('\n')));
        }) == "257\nthese are the first 256 problems; correct them and try again");
}

TEST_CASE("manifest: words of many kilobytes cost no gigabytes", "[config]") {
  const std::string word(100'000, 'k');
  const std::string manifests[] = {
      kSound + word + ": 1\n", "checkpoints: {model: m, " + word + ": 1}\nmetrics: [loss]\n",
      kSound + "corpora: {" + word +
          ": {text: {path: p}}}\ncalibration: {c: {corpus: " + std::string(100'000, 'l') + "}}\n"};
  for (const std::string& text : manifests) {
    CHECK_THAT(quench::test::message_within(200, [&] { problems_of(text); }),
               !Catch::Contains("out of memory") && !Catch::Contains("ended by signal"));
  }
}
