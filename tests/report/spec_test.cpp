#include "report/spec.hpp"

#include <catch2/catch.hpp>

#include "core/config/yaml.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::FigureKind;
using quench::ReportSpec;

namespace {

ReportSpec read(const std::string& text) {
  quench::Problems problems;
  ReportSpec out = read_report(quench::parse_yaml(text, "m.yaml"), problems);
  problems.throw_if_any();
  return out;
}

std::string problems_of(const std::string& text) {
  quench::Problems problems;
  read_report(quench::parse_yaml(text, "m.yaml"), problems);
  return quench::test::message_of([&] { problems.throw_if_any(); });
}

}  // namespace

TEST_CASE("report section: figures and contrasts are read", "[report]") {
  const ReportSpec got = read(
      "title: Decay\n"
      "figures:\n"
      "  - error_vs_tokens: {lines: branch, panels: [bits, params.group_size], right: lr}\n"
      "  - loss_plane: {x: float, y: quantized, range: all}\n"
      "  - bars: {spread: jitter, at: first, where: {quantizer: [a, b], bits: 3}}\n"
      "  - bars: {name: mine, panels: }\n"
      "  - table\n"
      "contrasts:\n"
      "  - {a: gptq, b: rtn, match: [bits, checkpoint]}\n"
      "  - {a: {quantizer: gptq, params.group_size: 64}, b: rtn, at: last}\n"
      "  - {a: {as: fast, sweep.train.lr.peak: 0.01}, b: {as: slow, sweep.train.lr.peak: "
      "0.001}}\n");
  CHECK(got.title == "Decay");
  REQUIRE(got.figures.size() == 5);
  CHECK(got.figures[0].kind == FigureKind::kErrorVsTokens);
  CHECK(got.figures[0].panels == std::vector<std::string>{"bits", "params.group_size"});
  CHECK(got.figures[0].right == "lr");
  CHECK(got.figures[0].place.line == 3);
  CHECK(got.figures[1].range == "all");
  CHECK(got.figures[2].name == "bars");
  CHECK(got.figures[2].spread == quench::SpreadKind::kJitter);
  CHECK(got.figures[2].where ==
        std::vector<quench::Condition>{{"quantizer", {"a", "b"}}, {"bits", {3}}});
  CHECK(got.figures[3].name == "mine");
  CHECK(got.figures[3].panels.empty());
  CHECK(got.figures[4].kind == FigureKind::kTable);
  REQUIRE(got.contrasts.size() == 3);
  CHECK(got.contrasts[0].a.text == "gptq");
  CHECK(*got.contrasts[0].match == std::vector<std::string>{"bits", "checkpoint"});
  CHECK(got.contrasts[1].a.name == "quantizer gptq, params.group_size 64");
  CHECK(got.contrasts[1].at == "last");
  CHECK_FALSE(got.contrasts[1].match);
  CHECK(got.contrasts[2].a.name == "fast");
  CHECK(got.contrasts[2].a.conditions ==
        std::vector<quench::Condition>{{"sweep.train.lr.peak", {0.01}}});
}

TEST_CASE("report section: without figures it has the usual ones", "[report]") {
  for (const char* text : {"{}", "contrasts: []", "null"}) {
    CAPTURE(text);
    const ReportSpec got = read(text);
    REQUIRE(got.figures.size() == 9);
    CHECK(got.figures[0].name == "error_vs_tokens");
    CHECK(got.figures[0].lines == std::vector<std::string>{"branch"});
    CHECK(got.figures[0].right == "lr");
  }
  CHECK(read("figures: []").figures.empty());
}

TEST_CASE("report section: two figures of a kind get two names", "[report]") {
  const ReportSpec got = read("figures: [bars, bars, {bars: {name: bars_2}}, bars]");
  REQUIRE(got.figures.size() == 4);
  CHECK(got.figures[0].name == "bars");
  CHECK(got.figures[1].name == "bars_3");
  CHECK(got.figures[2].name == "bars_2");
  CHECK(got.figures[3].name == "bars_4");
}

TEST_CASE("report section: the one in the documentation is right", "[report]") {
  const std::string page = quench::test::read_file(quench::test::source_dir() / "docs/report.md");
  const size_t begin = page.find("```yaml\n") + 8;
  const std::string block = page.substr(begin, page.find("```", begin) - begin);
  quench::Problems problems;
  const quench::YamlNode root = quench::parse_yaml(block, "docs/report.md");
  const ReportSpec got = read_report(*root.find("report"), problems);
  problems.throw_if_any();
  CHECK(got.figures.size() == 10);
  CHECK(got.contrasts.size() == 3);
}

TEST_CASE("report section: what is wrong is told with its place", "[report]") {
  struct Case {
    const char* text;
    const char* message;
  };
  const auto [text, message] = GENERATE(values<Case>({
      {"[]", "m.yaml:1:1: report: got a list, wanted a mapping"},
      {"figure: []", "m.yaml:1:1: report: unknown key `figure`; did you mean `figures`?"},
      {"figures: bars", "m.yaml:1:10: report: `figures`: got the text \"bars\", wanted a list"},
      {"figures: [bar]",
       "m.yaml:1:11: report: figures: unknown figure `bar`; did you mean `bars`?"},
      {"figures: [{bars: {}, table: {}}]",
       "m.yaml:1:11: report: figures: got more than one key, wanted `kind: {options}`"},
      {"figures: [3, []]",
       "m.yaml:1:11: report: figures: unknown figure `3`; known are error_vs_tokens, "
       "loss_vs_tokens, loss_plane, accuracy_vs_loss, loss_vs_bytes, bars, contour, spectrum, "
       "training_loss, table\n"
       "m.yaml:1:14: report: figures: got a list, wanted `kind: {options}`"},
      {"figures: [{bars: {colour: red}}]",
       "m.yaml:1:19: report: bars: unknown key `colour`; known are title, name, where, lines, "
       "panels, spread, y, at"},
      {"figures: [{table: {lines: branch}}]",
       "m.yaml:1:20: report: table: unknown key `lines`; known are title, name, where"},
      {"figures: [{bars: {lines: brunch}}]",
       "m.yaml:1:26: report: bars: `lines`: unknown dimension `brunch`; did you mean `branch`? (a "
       "parameter of the quantizer is `params.NAME`)"},
      {"figures: [{bars: {lines: [bits, bits]}}]",
       "m.yaml:1:33: report: bars: `lines`: `bits` is given twice"},
      {"figures: [{bars: {spread: draw}}]",
       "m.yaml:1:27: report: bars: `spread`: got the text \"draw\", wanted auto, items, draws, "
       "jitter, seeds, none; did you mean `draws`?"},
      {"figures: [{contour: {lines: branch}}]",
       "m.yaml:1:22: report: contour: unknown key `lines`; known are title, name, where"},
      {"figures: [{loss_plane: {x: quantized}}]",
       "m.yaml:1:28: report: loss_plane: `x`: got the text \"quantized\", wanted float"},
      {"figures: [{bars: {name: a/b}}]",
       "m.yaml:1:25: report: bars: name = \"a/b\", wanted letters, digits, _ and -"},
      {"figures: [{bars: {name: a}}, {table: {name: a}}]",
       "m.yaml:1:31: report: figures: the name \"a\" is given twice"},
      {"figures: [{bars: {where: 3}}]",
       "m.yaml:1:26: report: bars: `where`: got the number 3, wanted {dimension: value}"},
      {"figures: [{bars: {where: {bits: {a: 1}}}}]",
       "m.yaml:1:33: report: bars: `where`: `bits`: got a mapping, wanted a value or a list of "
       "values"},
      {"contrasts: [{a: x}]", "m.yaml:1:13: report: contrasts: `b` is missing"},
      {"contrasts: [{a: x, b: x}]", "m.yaml:1:13: report: contrasts: a and b are both x"},
      {"contrasts: [{a: x, b: [y]}]",
       "m.yaml:1:23: report: contrasts: `b`: got a list, wanted a name or {dimension: value}"},
      {"contrasts: [{a: x, b: y, match: bit}]",
       "m.yaml:1:33: report: contrasts: `match`: unknown dimension `bit`; did you mean `bits`? (a "
       "parameter of the quantizer is `params.NAME`)"},
      {"contrasts: [{a: x, b: y, at: end}]",
       "m.yaml:1:30: report: contrasts: `at`: got the text \"end\", wanted all, last, first, "
       "equal_loss"},
      {"contrasts: [{a: x, b: y, statistic: ratio}]",
       "m.yaml:1:37: report: contrasts: `statistic`: got the text \"ratio\", wanted difference, "
       "largest_over_smallest, slope_ratio, rank_correlation"},
      {"contrasts: [{a: x, b: y, statistic: slope_ratio}]",
       "m.yaml:1:13: report: contrasts: slope_ratio: wanted `over` and an axis, `over: tokens`"},
      {"contrasts: [{a: x, b: y, over: step}]",
       "m.yaml:1:13: report: contrasts: `over`: a difference has no axis"},
      {"contrasts: [{a: x, statistic: rank_correlation}]",
       "m.yaml:1:13: report: contrasts: rank_correlation: wanted `b`, or `over` and an axis"},
      {"contrasts: [{a: x, b: y, over: lr, statistic: rank_correlation}]",
       "m.yaml:1:13: report: contrasts: rank_correlation: got `b` and `over`, wanted one of them"},
      {"contrasts: [{a: x, b: members, at: equal_loss}]",
       "m.yaml:1:13: report: contrasts: b: members: an average and its members are compared as "
       "they are, got at: equal_loss"},
      {"contrasts: [{a: x, b: y, at: equal_loss, within: 0}]",
       "m.yaml:1:13: report: contrasts: within = 0, wanted more than 0 nats per token"},
      {"contrasts: [x]", "m.yaml:1:13: report: contrasts: got the text \"x\", wanted a mapping"},
  }));
  CAPTURE(text);
  CHECK(problems_of(text) == message);
}
