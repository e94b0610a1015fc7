// Contrasts are refused from the manifest, before anything runs: by the report, which `plan` asks.
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "tests/cli/program.hpp"

namespace quench::test {

namespace {

// One branch of three checkpoints; the manifest has two methods' worth of cells at each, and a set
// of the first two checkpoints that is averaged.
class Trunk {
 public:
  Trunk() {
    for (const char* step : {"step738000", "step738010", "step738020"}) {
      std::filesystem::create_directories(here_.folder() / "run");
      std::filesystem::copy(here_.folder() / "tiny", here_.folder() / "run" / step);
    }
  }

  // What `plan` says of the contrast.
  std::string told(const std::string& contrast) const {
    here_.folder().write("m.yaml",
                         "checkpoints: {model: run, revisions: \"step{step}\"}\n"
                         "averaging:\n  - soup: {window: [2, 3]}\n    label: last\n"
                         "  - soup: {}\n    of: [step738000, step738010]\n    label: pair\n"
                         "quantizers: [template_quantizer: {bits: [3, 4], group_size: [32, 64]}]\n"
                         "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                         "corpora: {v: {text: {path: t.txt}}}\n"
                         "report:\n  contrasts:\n    - " +
                             contrast + "\n");
    std::istringstream lines(here_.run({"plan", "m.yaml"}).err);
    std::string out;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("contrasts:") != std::string::npos) {
        out += (out.empty() ? "" : "\n") + line;
      }
    }
    return out;
  }

 private:
  Workplace here_;
};

}  // namespace

TEST_CASE("contrast: every window of an average against its checkpoint is a row each",
          "[core][run]") {
  const Trunk here;
  CHECK(here.told("{a: template_averaging, b: raw}").empty());
  CHECK(here.told("{a: soup, b: raw}").empty());
}

TEST_CASE("contrast: a set and a checkpoint that are the last at different places are refused",
          "[core][run]") {
  const Trunk here;
  CHECK(here.told("{a: soup, b: raw, at: last}") ==
        "m.yaml:12:7: contrasts: no cell of soup agrees with one of raw in bits, checkpoint; last "
        "is step738010 for soup and step738020 for raw: name a checkpoint on each side, or leave "
        "out `at`");
  CHECK(here.told("{a: {averaging: soup, checkpoint: step738010}, "
                  "b: {averaging: null, checkpoint: step738020}}")
            .empty());
}

TEST_CASE("contrast: several cells that fit several are refused before the run", "[core][run]") {
  const Trunk here;
  CHECK(here.told("{a: {bits: 3}, b: {bits: 4}}") ==
        "m.yaml:12:7: contrasts: 2 cells of bits 3, which differ in label, params.group_size, fit "
        "2 cells of bits 4, which differ in label, params.group_size; select one on a side, or add "
        "what should be equal to `match`");
  CHECK(here.told("{a: {bits: 3}, b: {bits: 4}, match: [params.group_size, checkpoint]}").empty());
  CHECK(here.told("{a: {bits: 3}, b: {bits: 4}, match: [bits]}") ==
        "m.yaml:12:7: contrasts: no cell of bits 3 agrees with one of bits 4 in bits");
}

TEST_CASE("contrast: values of a metric that the run does not measure are refused", "[core][run]") {
  const Trunk here;
  CHECK(here.told("{a: template_averaging, b: raw, of: template_metric}").empty());
  CHECK(here.told("{a: template_averaging, b: raw, of: template_metric/trace}").empty());
  CHECK(here.told("{a: template_averaging, b: raw, of: hessian/trace}") ==
        "m.yaml:12:7: contrasts: `of`: got hessian/trace, wanted one of delta, loss, "
        "template_metric");
  CHECK(here.told("{a: template_averaging, b: raw, of: template_metric, at: equal_loss}") ==
        "m.yaml:12:7: report: contrasts: at: equal_loss: compares quantized losses, got of: "
        "template_metric");
  CHECK(here.told("{a: soup, b: raw, at: last, of: template_metric}")
            .find("no cell of soup agrees with one of raw") != std::string::npos);
}

TEST_CASE("contrast: an average none of whose members is measured by its method is refused",
          "[core][run]") {
  const Trunk here;
  CHECK(here.told("{a: soup, b: members}").empty());
  CHECK_THAT(here.told("{a: raw, b: members}"),
             Catch::Contains("raw: a checkpoint that is no average has no members"));
}

TEST_CASE("contrast: lines of checkpoints of which several fit several are refused",
          "[core][run]") {
  const Trunk here;
  CHECK_THAT(here.told("{a: {bits: 3}, b: {bits: 4}, at: equal_loss}"),
             Catch::Contains("lines of checkpoints of bits 3, which differ in") &&
                 Catch::Contains("select one on a side"));
}

}  // namespace quench::test
