#include "core/config/manifest.hpp"

#include <catch2/catch.hpp>

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
  CHECK(manifest.dtype == "float32");
  CHECK(manifest.device == "cpu");
  CHECK(manifest.checkpoints.model == "m");
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
  CHECK(manifest.checkpoints.pattern == "step{step}");
  CHECK(manifest.checkpoints.tokenizer == "t");
  REQUIRE(manifest.calibrations.size() == 2);
  CHECK(manifest.calibrations[0].packing == "concat");
  CHECK(manifest.calibrations[0].sequences == 4);
  CHECK(manifest.calibrations[1].documents == 9);
  CHECK(manifest.quantizers.at(0).label == "mine");
  CHECK(manifest.quantizers[0].calibration == "c");
  CHECK(manifest.quantizers[0].parameters.find("bits")->scalar == "3");
  CHECK(manifest.corpora.at(0).id == "text");
}

TEST_CASE("manifest: --set is applied before anything is checked", "[config]") {
  const Manifest manifest = read("checkpoints: {model: old}\nmetrics: [loss]\n",
                                 {"checkpoints.model=new", "seed=3", "name=\"010\""});
  CHECK(manifest.checkpoints.model == "new");
  CHECK(manifest.seed == 3);
  CHECK(manifest.name == "010");
  CHECK(problems_of(kSound, {"seed=-1"}) ==
        "--set seed: manifest: seed = -1, expected 0..4611686018427387904");
  CHECK(problems_of(kSound, {"seed"}) == "--set: got `seed`, wanted a.b=value");
  CHECK(problems_of(kSound, {"=3"}) == "--set: got `=3`, wanted a.b=value");
}

TEST_CASE("manifest: each thing that can be wrong has its own message", "[config]") {
  const std::pair<std::string, std::string> cases[] = {
      {"just text\n", "m.yaml:1:1: manifest: got the text \"just text\", wanted a mapping"},
      {"[a, b]\n", "m.yaml:1:1: manifest: got a list, wanted a mapping"},
      {"metrics: [loss]\n", "m.yaml:1:1: manifest: `checkpoints` is missing"},
      {"checkpoints: {model: m}\n", "m.yaml:1:1: manifest: `metrics` is missing"},
      {"checkpoints: {model: m}\nmetrics: []\n",
       "m.yaml:2:10: metrics: empty; wanted at least one"},
      {"checkpoints: {model: m}\nmetrics:\n", "m.yaml:3:1: metrics: empty; wanted at least one"},
      {"checkpoints: {model: m}\nmetrics: {loss: {}}\n",
       "m.yaml:2:10: metrics: got a mapping, wanted a list"},
      {"checkpoints: {model: m}\nmetrics: loss\n",
       "m.yaml:2:10: metrics: got the text \"loss\", wanted a list"},
      {kSound + "quantizer: []\n",
       "m.yaml:3:1: manifest: unknown key `quantizer`; did you mean "
       "`quantizers`?"},
      {kSound + "wibble: 1\n",
       "m.yaml:3:1: manifest: unknown key `wibble`; known are name, seed, dtype, device, "
       "checkpoints, quantizers, metrics, calibration, corpora, averaging, sweep, requires, train, "
       "storage, cluster, contrasts, report"},
      {kSound + "revisions: [a]\n",
       "m.yaml:3:1: manifest: unknown key `revisions`; it belongs under `checkpoints`"},
      {kSound + "sequences: 4\n",
       "m.yaml:3:1: manifest: unknown key `sequences`; it belongs under a name in `calibration`"},
      {kSound + "seed: -1\n", "m.yaml:3:7: manifest: seed = -1, expected 0..4611686018427387904"},
      {kSound + "seed: 1e5\n",
       "m.yaml:3:7: manifest: `seed`: got the number 1e5, wanted a whole number"},
      {kSound + "seed: 010\n",
       "m.yaml:3:7: manifest: `seed`: got the text \"010\", wanted a whole number"},
      {kSound + "seed: 9223372036854775808\n",
       "m.yaml:3:7: manifest: `seed`: got the text \"9223372036854775808\", wanted a whole number"},
      {kSound + "seed: [1]\n", "m.yaml:3:7: manifest: `seed`: got a list, wanted a whole number"},
      {kSound + "name: a/b\n", "m.yaml:3:7: manifest: name = \"a/b\", wanted a plain folder name"},
      {kSound + "name: ..\n", "m.yaml:3:7: manifest: name = \"..\", wanted a plain folder name"},
      {kSound + "name: \"a\\nb\"\n",
       "m.yaml:3:7: manifest: name = \"a\\x0ab\", wanted a plain folder name"},
      {kSound + "name: [a]\n", "m.yaml:3:7: manifest: `name`: got a list, wanted text"},
      {kSound + "dtype: {}\n", "m.yaml:3:8: manifest: `dtype`: got a mapping, wanted text"},
      {kSound + "averaging: []\n",
       "m.yaml:3:12: manifest: section `averaging` is not supported by this version"},
      {kSound + "sweep: {a: 1}\n",
       "m.yaml:3:8: manifest: section `sweep` is not supported by this version"},
      {"checkpoints: [m]\nmetrics: [loss]\n",
       "m.yaml:1:14: checkpoints: got a list, wanted a mapping"},
      {"checkpoints: {}\nmetrics: [loss]\n", "m.yaml:1:14: checkpoints: `model` is missing"},
      {"checkpoints: {model: \"\"}\nmetrics: [loss]\n",
       "m.yaml:1:22: checkpoints: `model` is empty"},
      {"checkpoints: {model: [a]}\nmetrics: [loss]\n",
       "m.yaml:1:22: checkpoints: `model`: got a list, wanted text"},
      {"checkpoints: {model: train}\nmetrics: [loss]\n",
       "m.yaml:1:22: checkpoints: `model: train` is not supported by this version"},
      {"checkpoints: {model: m, modle: n}\nmetrics: [loss]\n",
       "m.yaml:1:25: checkpoints: unknown key `modle`; did you mean `model`?"},
      {"checkpoints: {model: m, revisions: []}\nmetrics: [loss]\n",
       "m.yaml:1:36: checkpoints: `revisions`: got an empty list, wanted a pattern like "
       "\"step{step}\" or a list of names"},
      {"checkpoints: {model: m, revisions: {a: 1}}\nmetrics: [loss]\n",
       "m.yaml:1:36: checkpoints: `revisions`: got a mapping, wanted a pattern like \"step{step}\" "
       "or a list of names"},
      {"checkpoints: {model: m, revisions: [a, [b]]}\nmetrics: [loss]\n",
       "m.yaml:1:40: checkpoints: revisions: got a list, wanted a name"},
      {"checkpoints: {model: m, revisions: [a, a]}\nmetrics: [loss]\n",
       "m.yaml:1:40: checkpoints: revision \"a\" is given twice"},
      {"checkpoints: {model: m, branches: {a: {}}}\nmetrics: [loss]\n",
       "m.yaml:1:35: checkpoints: `branches` is not supported by this version"},
      {kSound + "quantizers:\n  - q: {bits: 3}\n    bits: 4\n",
       "m.yaml:5:5: quantizers: two ids in one entry, `q` and `bits`; each needs a `- ` of its own "
       "(keys beside an id are label, calibration)"},
      {kSound + "quantizers: [[q]]\n",
       "m.yaml:3:14: quantizers: got a list, wanted `- id: {parameters}`"},
      {kSound + "quantizers:\n  - q: 3\n",
       "m.yaml:4:8: quantizers: q: got the number 3, wanted a mapping of parameters"},
      {kSound + "quantizers:\n  - label: x\n", "m.yaml:4:5: quantizers: an entry without an id"},
      {kSound + "quantizers:\n  - q: {}\n    label: [x]\n",
       "m.yaml:5:12: quantizers: `label`: got a list, wanted a name"},
      {kSound + "calibration: [c]\n",
       "m.yaml:3:14: calibration: got a list, wanted a mapping of names"},
      {kSound + "calibration: {c: {sequences: 4, length: 8}}\n",
       "m.yaml:3:18: calibration c: `corpus` is missing"},
      {kSound + "calibration: {c: {corpus: x, sequences: 4}}\n",
       "m.yaml:3:15: calibration c: packing concat needs `sequences` and `length`"},
      {kSound + "calibration: {c: {corpus: x, sequences: 0, length: 8}}\n",
       "m.yaml:3:41: calibration c: sequences = 0, expected 1..2147483648"},
      {kSound + "calibration: {c: {corpus: x, sequences: 4, length: 8, packing: none}}\n",
       "m.yaml:3:15: calibration c: packing none takes `documents`, not `sequences`"},
      {kSound + "calibration: {c: {corpus: x, documents: 4, packing: tight}}\n",
       "m.yaml:3:53: calibration c: packing = \"tight\", expected concat or none"},
      {kSound + "calibration: {c: {corpus: x, documents: 4, lenght: 4}}\n",
       "m.yaml:3:44: calibration c: unknown key `lenght`; did you mean `length`?"},
      {kSound + "corpora: {x: {}}\n",
       "m.yaml:3:14: corpora: x: got a mapping, wanted `{kind: {parameters}}`"},
      {kSound + "corpora: {x: {text: {}, jsonl: {}}}\n",
       "m.yaml:3:14: corpora: x: got a mapping, wanted `{kind: {parameters}}`"},
      {kSound + "corpora: {x: {text: p}}\n",
       "m.yaml:3:21: corpora: x: text: got the text \"p\", wanted a mapping of parameters"},
  };
  for (const auto& [text, wanted] : cases) {
    CAPTURE(text);
    CHECK(problems_of(text) == wanted);
  }
}

TEST_CASE("manifest: all problems come at once, in the order of the file", "[config]") {
  CHECK(problems_of("seed: x\n"
                    "checkpoints: {model: train, wibble: 1}\n"
                    "metric: [loss]\n"
                    "quantizers: [q, [r]]\n") ==
        "m.yaml:1:1: manifest: `metrics` is missing\n"
        "m.yaml:1:7: manifest: `seed`: got the text \"x\", wanted a whole number\n"
        "m.yaml:2:22: checkpoints: `model: train` is not supported by this version\n"
        "m.yaml:2:29: checkpoints: unknown key `wibble`; known are model, tokenizer, "
        "revisions, branches\n"
        "m.yaml:3:1: manifest: unknown key `metric`; did you mean `metrics`?\n"
        "m.yaml:4:17: quantizers: got a list, wanted `- id: {parameters}`");
}
