#include "report/figure.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/store/derived.hpp"
#include "report/dimension.hpp"
#include "report/report.hpp"
#include "tests/report/demo_run.hpp"
#include "tests/report/loss_records.hpp"
#include "tests/support/temporary.hpp"

using quench::Figure;
using quench::FigureKind;
using quench::Panel;
using quench::Record;
using quench::Report;
using quench::Trace;
using quench::value_text;
using quench::test::demo_records;
using quench::test::DemoOptions;
using quench::test::float_loss;
using quench::test::quantized_loss;

namespace {

Report report_of(std::vector<Record> records, const std::string& section = "") {
  quench::RunDocuments documents = quench::test::demo_documents();
  if (!section.empty()) {
    documents.manifest["report"] = yaml_to_json(quench::parse_yaml(section, "section"));
  }
  quench::RunRecords run;
  run.records = std::move(records);
  return make_report(std::move(documents), std::move(run));
}

const Trace& trace_of(const Panel& panel, Trace::Kind kind, const std::string& name) {
  for (const Trace& trace : panel.traces) {
    if (trace.kind == kind && trace.name == name) {
      return trace;
    }
  }
  FAIL("no trace " + name);
  return panel.traces[0];
}

size_t count(const Panel& panel, Trace::Kind kind) {
  return static_cast<size_t>(std::count_if(panel.traces.begin(), panel.traces.end(),
                                           [&](const Trace& it) { return it.kind == kind; }));
}

}  // namespace

TEST_CASE("figures: errors are the derived values, point for point", "[report]") {
  const std::vector<Record> records = demo_records();
  const Report report = report_of(records);
  const Figure& figure = report.figures[0];
  REQUIRE(figure.kind == FigureKind::kErrorVsTokens);
  REQUIRE(figure.panels.size() == 2);
  CHECK(figure.panels[0].title == "3 bits");
  CHECK(figure.panels[1].title == "4 bits");
  // The run's own ΔQL of draw 0, by panel, method and average, revision.
  std::map<std::string, double> errors;
  for (const Record& record : quench::with_derived(records)) {
    const bool base = (record.draw.is_null() || record.draw == 0) &&
                      (record.jitter.is_null() || record.jitter == 0);
    if (record.metric == "quantization_error" && base) {
      const std::string key = dimension_value(record, "bits").dump() +
                              value_text(dimension_value(record, "quantizer")) +
                              value_text(dimension_value(record, "averaging")) +
                              value_text(dimension_value(record, "checkpoint"));
      errors[key] = record.value.get<double>();
    }
  }
  size_t checked = 0;
  for (const Panel& panel : figure.panels) {
    CHECK(panel.x_title == "training tokens");
    for (const Trace& trace : panel.traces) {
      for (size_t i = 0; trace.kind == Trace::Kind::kLine && i < trace.x.size(); ++i) {
        const Record& record = *trace.records[i];
        const std::string key = panel.title.substr(0, 1) +
                                value_text(dimension_value(record, "quantizer")) +
                                value_text(dimension_value(record, "averaging")) + trace.texts[i];
        REQUIRE(errors.count(key) == 1);
        CHECK(trace.y[i] == Approx(100 * errors.at(key)).epsilon(1e-12));
        CHECK(trace.x[i] == record.checkpoint.at("tokens").get<double>());
        ++checked;
      }
    }
  }
  CHECK(checked == errors.size());
  CHECK(checked == 30 * 4 - 1);  // all weights and methods but the failed cell
}

TEST_CASE("figures: lines keep to a branch, averages have lines of their own", "[report]") {
  const Report report = report_of(demo_records());
  const Panel& panel = report.figures[0].panels[0];
  CHECK(count(panel, Trace::Kind::kLine) == 8);  // (2 forks, trunk, its averages) × 2 methods
  const Trace& trunk = trace_of(panel, Trace::Kind::kLine, "constant, gptq");
  CHECK(trunk.x.size() == 12);
  CHECK(std::is_sorted(trunk.x.begin(), trunk.x.end()));
  const Trace& averages = trace_of(panel, Trace::Kind::kLine, "constant, lawa, gptq");
  CHECK(averages.x.size() == 8);
  CHECK(averages.color != trunk.color);
  CHECK(averages.dash == trunk.dash);
  CHECK(trace_of(panel, Trace::Kind::kLine, "constant, rtn").dash != trunk.dash);
  CHECK(trace_of(panel, Trace::Kind::kLine, "decay12, rtn").marks.back() == "star");
}

TEST_CASE("figures: a line runs through the mean of the seeds", "[report]") {
  const std::string seed = GENERATE("seed", "train.seed");
  std::vector<Record> records;
  for (const int value : {3, 4, 8}) {
    for (const int64_t step : {1, 2}) {
      Record f = float_loss("main", "s" + std::to_string(step), step, {4.0 + value, 4.0 + value});
      f.job = static_cast<uint64_t>(value);
      f.environment["sweep"] = {{seed, value}};
      f.parts = {{"weights", std::to_string(value) + "/" + std::to_string(step)}};
      records.push_back(f);
      records.push_back(quantized_loss(f, "rtn", 3, {0.1 * value, 0.1 * value}));
    }
  }
  const Report report = report_of(
      records,
      "{figures: [error_vs_tokens: {y: delta}, loss_vs_tokens, loss_plane: {range: all}]}");
  const Panel& deltas = report.figures[0].panels[0];
  REQUIRE(count(deltas, Trace::Kind::kLine) == 1);
  const Trace& line = trace_of(deltas, Trace::Kind::kLine, "main, rtn");
  REQUIRE(line.y.size() == 2);
  CHECK(line.y[0] == Approx(0.5).epsilon(1e-12));  // (0.3 + 0.4 + 0.8)/3
  const Trace& bars = trace_of(deltas, Trace::Kind::kInterval, "main, rtn");
  CHECK(bars.y[0] == Approx(line.y[0]).epsilon(1e-12));
  CHECK_THAT(
      report.figures[0].caption,
      Catch::Contains("over 3 seeds") && Catch::Contains("Each point is the mean over 3 seeds."));
  const Trace& floating = trace_of(report.figures[1].panels[0], Trace::Kind::kFloat, "main, float");
  CHECK(floating.y[1] == Approx(9).epsilon(1e-12));  // 4 + (3 + 4 + 8)/3
  const Trace& plane = trace_of(report.figures[2].panels[0], Trace::Kind::kLine, "main, rtn");
  CHECK(plane.x[0] == Approx(9).epsilon(1e-12));
  CHECK(plane.y[0] == Approx(9.5).epsilon(1e-12));
}

TEST_CASE("figures: points of a sweep are told apart by what they set", "[report]") {
  std::vector<Record> records;
  for (const double peak : {0.001, 0.003}) {
    Record f = float_loss("main", "s1", 1, {4, 4});
    f.job = peak == 0.001 ? 0 : 1;
    f.environment["sweep"] = {{"train.lr", {{"peak", peak}}}};
    records.push_back(f);
    records.push_back(quantized_loss(f, "rtn", 3, {0.1, 0.1}));
  }
  const Report report = report_of(records, "{figures: [error_vs_tokens]}");
  const Panel& panel = report.figures[0].panels[0];
  CHECK(trace_of(panel, Trace::Kind::kLine, "main, peak 0.001, rtn").x.size() == 1);
  CHECK(trace_of(panel, Trace::Kind::kLine, "main, peak 0.003, rtn").x.size() == 1);
}

TEST_CASE("figures: two losses in panels by method and bits have a panel each", "[report]") {
  std::vector<Record> records;
  for (const char* label : {"prose", "code"}) {
    Record f = float_loss("main", "s1", 1, {4, 4});
    f.label = label;
    records.push_back(f);
    records.push_back(quantized_loss(f, "rtn", 3, {0.1, 0.1}));
  }
  const Report report =
      report_of(records, "{figures: [error_vs_tokens: {panels: [quantizer, bits]}]}");
  REQUIRE(report.figures[0].panels.size() == 2);
  CHECK(report.figures[0].panels[0].title == "rtn, 3 bits, code");
  CHECK(report.figures[0].panels[1].title == "rtn, 3 bits, prose");
}

TEST_CASE("figures: the learning rate is drawn once per branch, in a strip", "[report]") {
  const Report report = report_of(demo_records());
  for (const Panel& panel : report.figures[0].panels) {
    CHECK(panel.strip_title == "learning rate");
    CHECK(panel.right_title.empty());
    CHECK(count(panel, Trace::Kind::kStrip) == 3);
    const Trace& decay = trace_of(panel, Trace::Kind::kStrip, "decay6, learning rate");
    CHECK(decay.y.back() == 0);
    CHECK(decay.color == trace_of(panel, Trace::Kind::kLine, "decay6, rtn").color);
  }
}

TEST_CASE("figures: a fork is joined to its parent where it leaves it", "[report]") {
  const Report report = report_of(demo_records());
  for (const Figure* figure : {&report.figures[0], &report.figures[2]}) {  // curve, plane
    const Panel& panel = figure->panels[0];
    CHECK(count(panel, Trace::Kind::kJoin) == 4);  // 2 forks × 2 methods
    const Trace& trunk = trace_of(panel, Trace::Kind::kLine, "constant, rtn");
    const Trace& fork = trace_of(panel, Trace::Kind::kLine, "decay6, rtn");
    const auto join =
        std::find_if(panel.traces.begin(), panel.traces.end(), [&](const Trace& trace) {
          return trace.kind == Trace::Kind::kJoin && trace.color == fork.color &&
                 trace.dash == fork.dash;
        });
    REQUIRE(join != panel.traces.end());
    CHECK(join->x == std::vector<double>{trunk.x[5], fork.x[0]});  // step 6000
    CHECK(join->y == std::vector<double>{trunk.y[5], fork.y[0]});
  }
}

TEST_CASE("figures: no line runs from one branch into another, whatever has the colours",
          "[report]") {
  const Report report =
      report_of(demo_records(), "{figures: [error_vs_tokens: {lines: [], panels: bits}]}");
  for (const Trace& trace : report.figures[0].panels[0].traces) {
    if (trace.kind == Trace::Kind::kLine) {
      CHECK(std::is_sorted(trace.x.begin(), trace.x.end()));
      for (const Record* record : trace.records) {
        CHECK(record->checkpoint.at("branch") == trace.records[0]->checkpoint.at("branch"));
      }
    }
  }
}

TEST_CASE("figures: every method has a marker of its own, in its line of the legend", "[report]") {
  const Report report = report_of(demo_records());
  const Figure& figure = report.figures[0];
  const int rtn = trace_of(figure.panels[0], Trace::Kind::kLine, "constant, rtn").marker;
  const int gptq = trace_of(figure.panels[0], Trace::Kind::kLine, "constant, gptq").marker;
  CHECK(rtn >= 0);
  CHECK(gptq >= 0);
  CHECK(rtn != gptq);
  CHECK(trace_of(figure.panels[0], Trace::Kind::kLine, "decay6, rtn").marker == rtn);
  for (const quench::LegendEntry& entry : figure.legend) {
    if (entry.text == "rtn") {
      CHECK(entry.marker == rtn);
    }
    if (entry.text == "constant") {
      CHECK(entry.marker == -1);
    }
  }
}

TEST_CASE("figures: a loss for its bytes runs from few bits to the float model", "[report]") {
  std::vector<Record> records;
  for (const auto& [model, scale] : {std::pair("small", 1.0), {"large", 2.0}}) {
    Record f = float_loss("main", std::string(model) + "-s1", 1, {4 - scale, 4 - scale});
    f.checkpoint["model"] = model;
    f.details["stored_bytes"] = 1600 * scale;
    records.push_back(f);
    for (const int bits : {3, 4}) {
      const double cost = 0.5 / bits;
      records.push_back(quantized_loss(f, "rtn", bits, {cost, cost}));
      records.back().details["stored_bytes"] = 100 * bits * scale;
    }
  }
  const Report report = report_of(records, "{figures: [loss_vs_bytes]}");
  const Figure& figure = report.figures[0];
  REQUIRE(figure.panels.size() == 1);
  CHECK(figure.panels[0].x_title == "stored weights (bytes)");
  const Trace& large = trace_of(figure.panels[0], Trace::Kind::kLine, "main, large, rtn");
  CHECK(large.x == std::vector<double>{600, 800, 3200});
  CHECK(large.y[2] == 2);
  CHECK(large.y[1] == Approx(2.125).epsilon(1e-12));
  CHECK(large.texts == std::vector<std::string>{"rtn bits=3, large-s1", "rtn bits=4, large-s1",
                                                "float, large-s1"});
  for (Record& record : records) {
    record.details.erase("stored_bytes");
  }
  const Report unknown = report_of(records, "{figures: [loss_vs_bytes]}");
  CHECK(unknown.figures[0].panels.empty());
  CHECK_THAT(unknown.figures[0].caption, Catch::Contains("6 points whose records hold no size"));
  CHECK_THAT(unknown.health.back(), Catch::Contains("loss_vs_bytes has nothing to show"));
}

TEST_CASE("figures: a training's loss is drawn with its rate, shared rows once", "[report]") {
  const quench::test::TemporaryDir run;
  std::string trunk;
  std::string fork;
  for (int step = 1; step <= 4; ++step) {
    const auto row = [&](double loss, double rate) {
      return nlohmann::json{{"step", step}, {"tokens", 10 * step}, {"lr", rate}, {"loss", loss}}
                 .dump() +
             "\n";
    };
    trunk += row(5.0 - step, 0.1);
    fork += step <= 2 ? row(5.0 - step, 0.1) : step == 3 ? row(1.5, 0.05) : "";
  }
  run.write("training/constant.jsonl", trunk);
  run.write("training/decay.jsonl", fork + "{\"step\": 4, \"loss\": null}\n");
  run.write("training/notes.txt", "no log");
  run.write("training/job~1/constant.jsonl", trunk);
  quench::RunDocuments documents = quench::test::demo_documents();
  documents.training = quench::read_training_logs(run.path());
  documents.manifest["report"] = {{"figures", {{{"training_loss", {{"x", "step"}}}}}}};
  quench::RunRecords records;
  records.records = demo_records();
  records.records.push_back(records.records[0]);
  records.records.back().job = 1;
  records.records.back().environment["sweep"] = {{"train.seed", 4}};
  const Report report = make_report(std::move(documents), std::move(records));
  REQUIRE(report.figures.size() == 1);
  const Panel& panel = report.figures[0].panels.at(0);
  CHECK(trace_of(panel, Trace::Kind::kCurve, "constant").y == std::vector<double>{4, 3, 2, 1});
  CHECK(count(panel, Trace::Kind::kCurve) == 3);
  CHECK(trace_of(panel, Trace::Kind::kCurve, "constant, seed 4").x.size() == 4);
  const Trace& decay = trace_of(panel, Trace::Kind::kCurve, "decay");
  CHECK(decay.x == std::vector<double>{2, 3});  // from the last row that both have
  CHECK(decay.y == std::vector<double>{3, 1.5});
  CHECK(trace_of(panel, Trace::Kind::kStrip, "decay, learning rate").y ==
        std::vector<double>{0.1, 0.05});
}

TEST_CASE("figures: bars are of calibration draws where there are any, and say so", "[report]") {
  const Report report = report_of(demo_records());
  const Panel& panel = report.figures[0].panels[0];
  CHECK(count(panel, Trace::Kind::kInterval) == 4);  // gptq's lines alone
  const Trace& bars = trace_of(panel, Trace::Kind::kInterval, "constant, gptq");
  REQUIRE(bars.x.size() == 2);  // first and last
  CHECK(bars.low[0] < bars.y[0]);
  CHECK(bars.y[0] - bars.low[0] == Approx(bars.high[0] - bars.y[0]));
  CHECK_THAT(report.figures[0].caption,
             Catch::Contains("95 % t interval of the mean over 3 calibration draws") &&
                 Catch::Contains("They do not cover other validation data, other training runs.") &&
                 Catch::Contains("Methods without calibration data have no such bars."));
  DemoOptions single;
  single.draws = 1;
  single.jitter = 0;
  const Report items = report_of(demo_records(single));
  CHECK(count(items.figures[0].panels[0], Trace::Kind::kInterval) == 8);
  CHECK_THAT(items.figures[0].caption, Catch::Contains("over 64 validation items, paired"));
  single.items = 1;
  const Report none = report_of(demo_records(single));
  CHECK(count(none.figures[0].panels[0], Trace::Kind::kInterval) == 0);
  CHECK_THAT(none.figures[0].caption, Catch::Contains("No bars: no cell has two"));
}

TEST_CASE("figures: an interval over draws is that of the hand-worked t", "[report]") {
  const Record f = quench::test::float_loss("main", "s1", 1, {4, 4, 4, 4});
  std::vector<Record> records = {f};
  const double deltas[] = {0.10, 0.12, 0.11};
  for (uint32_t r = 0; r < 3; ++r) {
    const double d = deltas[r];
    records.push_back(
        quench::test::replicate(quench::test::quantized_loss(f, "good", 3, {d, d, d, d}), r, 0));
  }
  const Report report = report_of(records, "figures: [{bars: {}}, {error_vs_tokens: {}}]");
  const Trace& bar = report.figures[0].panels.at(0).traces.at(0);
  CHECK(bar.y.at(0) == Approx(0.11).margin(1e-12));
  CHECK(bar.high.at(0) == Approx(0.11 + 4.302652730 * 0.01 / std::sqrt(3.0)).epsilon(1e-8));
  // ΔQL in percent: 100/4 of it.
  const Trace& interval =
      trace_of(report.figures[1].panels.at(0), Trace::Kind::kInterval, "main, good");
  CHECK(interval.high.at(0) == Approx(25 * bar.high.at(0)).epsilon(1e-9));
}

TEST_CASE("figures: the plane has both losses, the diagonal and lines of equal error", "[report]") {
  const Report report = report_of(demo_records());
  const Figure& figure = report.figures[2];
  REQUIRE(figure.kind == FigureKind::kLossPlane);
  for (const Panel& panel : figure.panels) {
    CHECK(panel.is_square);
    for (const Trace& trace : panel.traces) {
      for (size_t i = 0; trace.kind == Trace::Kind::kLine && i < trace.x.size(); ++i) {
        CHECK(trace.y[i] == trace.records[i]->value.get<double>());
        CHECK(trace.x[i] < trace.y[i]);
      }
    }
    const Trace& diagonal = trace_of(panel, Trace::Kind::kGuide, "quantized = float");
    CHECK(diagonal.x == diagonal.y);
    CHECK(count(panel, Trace::Kind::kGuide) >= 2);
  }
  const Trace& two = trace_of(figure.panels[0], Trace::Kind::kGuide, "ΔQL 2 %");
  CHECK(two.y[0] == Approx(1.02 * two.x[0]));
  CHECK(two.y[1] == Approx(1.02 * two.x[1]));
  CHECK_THAT(figure.caption, Catch::Contains("earlier points are outside"));
}

TEST_CASE("figures: without tokens they go by step, without steps by position", "[report]") {
  DemoOptions options;
  options.tokens = false;
  const Report steps = report_of(demo_records(options));
  CHECK(steps.figures[0].panels[0].x_title == "training step");
  options.steps = false;
  const Report positions = report_of(demo_records(options));
  CHECK(positions.figures[0].panels[0].x_title == "checkpoint, by its position in the branch");
  CHECK_THAT(positions.figures[0].caption, Catch::Contains("drawn in the order of their branch"));
  const Trace& trunk =
      trace_of(positions.figures[0].panels[0], Trace::Kind::kLine, "constant, rtn");
  CHECK(trunk.x == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("figures: conditions keep some, and the float model of these", "[report]") {
  const Report report = report_of(
      demo_records(), "figures: [{loss_vs_tokens: {where: {quantizer: gptq, branch: decay6}}}]");
  const Panel& panel = report.figures[0].panels.at(0);
  CHECK(count(panel, Trace::Kind::kLine) == 1);
  CHECK(count(panel, Trace::Kind::kFloat) == 1);
}

TEST_CASE("figures: values of two kinds of machines are said to be so", "[report]") {
  std::vector<Record> records = demo_records();
  for (Record& record : records) {
    if (record.checkpoint.at("branch") == "decay6") {
      record.environment["isa"] = "avx512";
    }
  }
  const Report report = report_of(records);
  CHECK_THAT(report.figures[0].caption, Catch::Contains("cpu avx2; cpu avx512"));
}

TEST_CASE("figures: a run of float models alone has none, and says why", "[report]") {
  const Report report = report_of({quench::test::float_loss("main", "s1", 1, {4, 4})},
                                  "figures: [error_vs_tokens, loss_plane, bars]");
  for (const Figure& figure : report.figures) {
    CHECK(figure.panels.empty());
  }
  CHECK_THAT(report.figures[0].caption, Catch::Contains("nothing is drawn"));
}

TEST_CASE("report: fallbacks, damage and failures are told", "[report]") {
  const Report report = report_of(demo_records());
  REQUIRE(report.health.size() == 1);
  CHECK(report.health[0] ==
        "gptq bits=3: retries in 5 layers of 5 cells, at most 2 (first: "
        "layers.0.attention.dense).");
  REQUIRE(report.observations.failed.size() == 1);
  const nlohmann::json json = to_json(report);
  CHECK(json.at("failed").size() == 1);
  CHECK(json.at("contrasts").size() == 2);
  CHECK(json.at("contrasts")[0].at("rows").size() == 59);
  CHECK(json.at("cells").size() == 30 * 5 - 1);
}

TEST_CASE("figures: the right axis shows a value of the float models", "[report]") {
  const Record early = float_loss("b", "step1", 1, {2.0, 2.2});
  const Record late = float_loss("b", "step2", 2, {1.0, 1.2});
  std::vector<Record> records = {early, late, quantized_loss(early, "rtn", 3, {0.1, 0.1}),
                                 quantized_loss(late, "rtn", 3, {0.2, 0.2})};
  for (const auto& [of, value] : {std::pair(&early, 80.0), std::pair(&late, 90.0)}) {
    Record sharpness = *of;
    sharpness.metric = sharpness.label = "sharpness";
    sharpness.unit = "1";
    sharpness.direction = 0;
    sharpness.value = value;
    records.push_back(sharpness);
    sharpness.metric = "sharpness/trace";
    sharpness.label = "mine";
    sharpness.index = 1;
    sharpness.value = value + 1;
    records.push_back(sharpness);
  }
  for (const char* name : {"sharpness/trace", "mine/trace"}) {
    const Figure further =
        report_of(records, std::string("figures: [{error_vs_tokens: {right: ") + name + "}}]")
            .figures.at(0);
    CHECK(trace_of(further.panels.at(0), Trace::Kind::kRight, std::string("b, ") + name).y ==
          std::vector<double>{81, 91});
  }
  const Figure figure =
      report_of(records, "figures: [{error_vs_tokens: {right: sharpness}}]").figures.at(0);
  const Trace& trace = trace_of(figure.panels.at(0), Trace::Kind::kRight, "b, sharpness");
  CHECK(trace.y == std::vector<double>{80, 90});
  CHECK(figure.panels[0].right_title == "sharpness");
  const Figure without =
      report_of(records, "figures: [{error_vs_tokens: {right: flatness}}]").figures.at(0);
  CHECK(count(without.panels.at(0), Trace::Kind::kRight) == 0);
  CHECK(without.caption.find("no value of flatness") != std::string::npos);
}

TEST_CASE("figures: a landscape is contours with its checkpoints, a line a curve", "[report]") {
  Record plane = float_loss("b", "step3", 3, {1.0});
  plane.metric = plane.label = "plane";
  plane.direction = 0;
  plane.details = {{"x", {0, 1, 2}},
                   {"y", {-1, 1}},
                   {"loss", {{3.0, 2.0, nullptr}, {4.0, 1.5, 2.5}}},
                   {"singular_values", {2, 1}},
                   {"points",
                    {{{"name", "step1"}, {"at", {0.5, 0}}, {"loss", 2.1}},
                     {{"name", "step3"}, {"at", {1.5, 0}}, {"loss", 1.7}}}}};
  Record line = plane;
  line.label = "line";
  line.details["y"] = {0};
  line.details["loss"] = {{3.0, nullptr, 1.0}};
  line.details.erase("singular_values");
  Record broken = plane;
  broken.label = "broken";
  broken.details["loss"] = {{1.0}};
  const Figure figure = report_of({plane, line, broken}, "figures: [contour]").figures.at(0);
  REQUIRE(figure.panels.size() == 2);
  const Trace& contours = trace_of(figure.panels[0], Trace::Kind::kContour, "loss");
  CHECK(contours.x == std::vector<double>{0, 1, 2, 0, 1, 2});
  CHECK(contours.y == std::vector<double>{-1, -1, -1, 1, 1, 1});
  CHECK(contours.z[4] == 1.5);
  CHECK(std::isnan(contours.z[2]));
  const Trace& path = trace_of(figure.panels[0], Trace::Kind::kLine, "checkpoints");
  CHECK(path.x == std::vector<double>{0.5, 1.5});
  CHECK(path.texts == std::vector<std::string>{"step1", "step3"});
  const Trace& curve = trace_of(figure.panels[1], Trace::Kind::kLine, "loss");
  CHECK(curve.x == std::vector<double>{0, 2});  // what is not finite is left out
  CHECK(curve.y == std::vector<double>{3.0, 1.0});
}

TEST_CASE("figures: a spectral density is a curve of area 1 with its largest node marked",
          "[report]") {
  const auto with_density = [](const std::string& branch, int64_t step, const nlohmann::json& of) {
    Record record = float_loss(branch, "step" + std::to_string(step), step, {1.0});
    record.metric = record.label = "curvature";
    record.direction = 0;
    record.details = {{"density", of}};
    return record;
  };
  const nlohmann::json nodes = {{"values", {-2.0, 0.0, 10.0, 30.0}},
                                {"weights", {0.25, 0.75 - 1e-3, 1e-3, 1e-30}}};
  const std::vector<Record> records = {
      with_density("a", 1, nodes),
      with_density("a", 2, nodes),
      with_density("b", 3, {{"values", {1.0, 5.0}}, {"weights", {0.5, 0.5}}}),
      with_density("c", 4, {{"values", {1.0}}, {"weights", {0.5, 0.5}}}),
      with_density("d", 5, {{"values", {nullptr}}, {"weights", {1}}}),
      with_density("e", 6, 3)};
  const Figure figure = report_of(records, "figures: [spectrum]").figures.at(0);
  REQUIRE(figure.panels.size() == 1);
  const Panel& panel = figure.panels[0];
  CHECK(panel.is_log);
  REQUIRE(count(panel, Trace::Kind::kCurve) == 2);  // the last of a, and b
  const Trace& curve = trace_of(panel, Trace::Kind::kCurve, "a");
  double area = 0;
  for (size_t i = 0; i + 1 < curve.x.size(); ++i) {
    area += (curve.x[i + 1] - curve.x[i]) * (curve.y[i] + curve.y[i + 1]) / 2;
  }
  CHECK(area == Approx(1.0).epsilon(0.02));
  CHECK(*std::min_element(curve.y.begin(), curve.y.end()) >= panel.low);
  CHECK(panel.low > 0);
  const Trace& end = trace_of(panel, Trace::Kind::kPoints, "a");
  CHECK(end.x == std::vector<double>{10.0});  // a weight of 1e-30 is rounding
  CHECK(end.texts == std::vector<std::string>{"step2"});
  CHECK(report_of(records, "figures: [{spectrum: {at: all, panels: branch}}]")
            .figures[0]
            .panels.size() == 2);
}

TEST_CASE("figures: without a landscape the default report has no contours", "[report]") {
  quench::RunDocuments documents = quench::test::demo_documents();
  documents.manifest.erase("report");
  quench::RunRecords run;
  run.records = demo_records();
  for (const Figure& figure : make_report(std::move(documents), std::move(run)).figures) {
    CHECK(figure.kind != FigureKind::kContour);
    CHECK(figure.kind != FigureKind::kSpectrum);
  }
}

TEST_CASE("figures: accuracy that is lost stands against loss that is gained", "[report]") {
  const Record floating = float_loss("b", "step1", 1, {2.0, 3.0});
  const Record quantized = quantized_loss(floating, "rtn", 3, {0.25, 0.75});
  const auto answers = [](Record record, const std::vector<double>& items) {
    record.metric = record.label = "questions";
    record.unit = "accuracy";
    record.direction = 1;
    record.items = items;
    record.value = (items[0] + items[1] + items[2] + items[3]) / 4;
    return record;
  };
  const Figure figure = report_of({floating, answers(floating, {1, 1, 1, 0}), quantized,
                                   answers(quantized, {1, 0, 1, 0})},
                                  "figures: [accuracy_vs_loss]")
                            .figures.at(0);
  REQUIRE(figure.panels.size() == 1);
  const Panel& panel = figure.panels[0];
  REQUIRE(count(panel, Trace::Kind::kPoints) == 1);
  for (const Trace& trace : panel.traces) {
    REQUIRE(trace.x.size() == 1);
    CHECK(trace.x[0] == Approx(0.5));   // ΔCE
    CHECK(trace.y[0] == Approx(25.0));  // percentage points
    if (trace.kind == Trace::Kind::kInterval) {
      CHECK(trace.high[0] - trace.y[0] == Approx(25.0));  // one paired standard error
    }
  }
  const Figure without = report_of({floating, quantized}, "figures: [accuracy_vs_loss]").figures[0];
  CHECK(without.panels.empty());
  CHECK(without.caption.find("nothing is drawn") != std::string::npos);
}
