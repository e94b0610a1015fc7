#include "run/manifest/learning_rate.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "tests/run/manifest_folder.hpp"

using quench::LearningRateSchedule;
using quench::schedule_line;
using quench::scheduled_phase;
using quench::scheduled_rate;
using quench::test::ManifestFolder;
using quench::test::with_checkpoints;

namespace {

using Shape = LearningRateSchedule::Shape;

LearningRateSchedule wsd() {
  LearningRateSchedule out;
  out.shape = Shape::kWsd;
  out.peak = 2;
  out.final = 1;
  out.warmup = 10;
  out.steps = 100;
  out.decay_steps = 20;
  return out;
}

// "rate phase" of each checkpoint of run/step0, step5, step10, step60, step80, step90, step100.
std::vector<std::string> annotated(const ManifestFolder& here, const std::string& keys) {
  here.add_revisions("run", {"step0", "step5", "step10", "step60", "step80", "step90", "step100"});
  std::vector<std::string> out;
  const auto cells =
      here.resolve(with_checkpoints("{model: run, revisions: \"step{step}\", " + keys + "}"))
          .at(0)
          .checkpoints;
  for (const auto& cell : cells) {
    out.push_back((cell.learning_rate ? fmt::format("{}", *cell.learning_rate) : "-") + " " +
                  cell.phase);
  }
  return out;
}

}  // namespace

TEST_CASE("learning rate: wsd warms up, stays, and decays to the end", "[core][run]") {
  LearningRateSchedule schedule = wsd();
  CHECK(scheduled_rate(schedule, 0) == 0.0);
  CHECK(scheduled_rate(schedule, 5) == 1.0);
  CHECK(scheduled_rate(schedule, 10) == 2.0);
  CHECK(scheduled_rate(schedule, 80) == 2.0);
  CHECK(scheduled_rate(schedule, 85) == Approx(1.75));
  CHECK(scheduled_rate(schedule, 100) == 1.0);
  CHECK_FALSE(scheduled_rate(schedule, 101));
  CHECK_FALSE(scheduled_rate(schedule, -1));
  schedule.decay = LearningRateSchedule::Decay::kSquareRoot;
  CHECK(scheduled_rate(schedule, 85) == Approx(1.5));  // 1 + (1 - sqrt(1/4))
}

TEST_CASE("learning rate: cosine and linear fall from the warmup on", "[core][run]") {
  LearningRateSchedule schedule = wsd();
  schedule.decay_steps = 0;
  schedule.shape = Shape::kCosine;
  CHECK(scheduled_rate(schedule, 55) == Approx(1.5));
  CHECK(scheduled_rate(schedule, 100) == Approx(1.0));
  CHECK(scheduled_rate(schedule, 25) == Approx(1 + 0.5 * (1 + std::cos(std::acos(-1) / 6))));
  schedule.shape = Shape::kLinear;
  CHECK(scheduled_rate(schedule, 10) == 2.0);
  CHECK(scheduled_rate(schedule, 55) == Approx(1.5));
  schedule.shape = Shape::kConstant;
  schedule.steps.reset();
  CHECK(scheduled_rate(schedule, 1'000'000) == 2.0);
}

TEST_CASE("learning rate: the end of a cycle has the rate of its end, the next begins at its peak",
          "[core][run]") {
  LearningRateSchedule schedule = wsd();
  schedule.cycle_steps = 8;
  schedule.cycle_factor = 0.75;
  CHECK(scheduled_rate(schedule, 80) == 2.0);
  CHECK(scheduled_rate(schedule, 82) == 1.75);
  CHECK(scheduled_rate(schedule, 88) == 1.0);
  CHECK(scheduled_rate(schedule, 90) == 1.375);  // a quarter of the way from 1.5 to 1
  CHECK(scheduled_rate(schedule, 96) == 1.0);
  CHECK(scheduled_rate(schedule, 98) == 1.09375);  // and of that from 1.125
  CHECK(scheduled_rate(schedule, 100) == 1.0625);
  CHECK(scheduled_phase(schedule, 89) == "decay");
}

TEST_CASE("learning rate: a wsd may decay as a cosine or with a power", "[core][run]") {
  LearningRateSchedule schedule = wsd();
  schedule.decay = LearningRateSchedule::Decay::kCosine;
  CHECK(scheduled_rate(schedule, 90) == Approx(1.5));
  CHECK(scheduled_rate(schedule, 85) == Approx(1 + 0.5 * (1 + std::sqrt(0.5))));
  schedule.decay = LearningRateSchedule::Decay::kPower;
  schedule.decay_power = 2;
  CHECK(scheduled_rate(schedule, 85) == 1.9375);  // 1 + (1 - 1/16)
  CHECK(scheduled_rate(schedule, 100) == 1.0);
}

TEST_CASE("learning rate: a step between two phases belongs to the earlier", "[core][run]") {
  const LearningRateSchedule schedule = wsd();
  CHECK(scheduled_phase(schedule, 0) == "warmup");
  CHECK(scheduled_phase(schedule, 10) == "warmup");
  CHECK(scheduled_phase(schedule, 11) == "constant");
  CHECK(scheduled_phase(schedule, 80) == "constant");
  CHECK(scheduled_phase(schedule, 81) == "decay");
  CHECK(scheduled_phase(schedule, 101).empty());
  LearningRateSchedule constant;
  CHECK(scheduled_phase(constant, 0) == "constant");
}

TEST_CASE("learning rate: a schedule is a line from step 0 to the last checkpoint", "[core][run]") {
  using Line = std::vector<std::pair<int64_t, double>>;
  LearningRateSchedule schedule = wsd();
  CHECK(schedule_line(schedule, 90) == Line{{0, 0}, {10, 2}, {80, 2}, {90, 1.5}});
  CHECK(schedule_line(schedule, 500) == Line{{0, 0}, {10, 2}, {80, 2}, {100, 1}});
  CHECK(schedule_line(schedule, 5) == Line{{0, 0}, {5, 1}});
  CHECK(schedule_line(schedule, 0) == Line{{0, 0}});
  schedule.cycle_steps = 10;
  CHECK(schedule_line(schedule, 100) ==
        Line{{0, 0}, {10, 2}, {80, 2}, {90, 1}, {91, 1.9}, {100, 1}});
  schedule.shape = Shape::kCosine;
  schedule.cycle_steps = 0;
  schedule.steps = 1'000'000;
  const Line curve = schedule_line(schedule, 1'000'000);
  CHECK(curve.size() < 250);
  for (size_t i = 1; i < curve.size(); ++i) {
    const int64_t middle = (curve[i - 1].first + curve[i].first) / 2;
    CHECK(*scheduled_rate(schedule, middle) ==
          Approx((curve[i - 1].second + curve[i].second) / 2).margin(1e-3));
  }
}

TEST_CASE("learning rate: a branch has the schedule that the manifest states", "[core][run]") {
  const ManifestFolder here;
  const auto line = [&](const std::string& rate) {
    here.add_revisions("run", {"step60", "step90"});
    return here
        .resolve(with_checkpoints("{model: run, revisions: \"step{step}\", lr: " + rate + "}"))
        .at(0)
        .branches.at(0)
        .schedule;
  };
  CHECK(line("{schedule: wsd, peak: 2, warmup: 10, steps: 100, decay_steps: 20}") ==
        std::vector<std::pair<int64_t, double>>{{0, 0}, {10, 2}, {80, 2}, {90, 1}});
  CHECK(line("0.5").empty());
}

TEST_CASE("learning rate: every checkpoint of a branch carries it", "[core][run]") {
  const ManifestFolder here;
  CHECK(annotated(here, "lr: 0.5").at(3) == "0.5 ");
  CHECK(annotated(here, "lr: ~").at(3) == "- ");
  CHECK(annotated(here, "thin: 1").at(3) == "- ");
  using Lines = std::vector<std::string>;
  CHECK(
      annotated(here, "lr: {schedule: wsd, peak: 2, warmup: 10, steps: 100, decay_steps: 20}") ==
      Lines{"0 warmup", "1 warmup", "2 warmup", "2 constant", "2 constant", "1 decay", "0 decay"});
  CHECK(annotated(here,
                  "lr: {schedule: linear, peak: 2, final: 1, warmup: 10, steps: 100, "
                  "cycle_steps: 40, cycle_factor: 0.75}") ==
        Lines{"0 warmup", "1 warmup", "2 warmup", "1.375 decay", "1.125 decay", "1 decay",
              "1.09375 decay"});
  CHECK(
      annotated(here, "phases: {warmup: [0, 10], constant: [10, 80], decay: [80, null]}") ==
      Lines{"- warmup", "- warmup", "- warmup", "- constant", "- constant", "- decay", "- decay"});
}

TEST_CASE("learning rate: points are joined by lines, and nothing is known beyond them",
          "[core][run]") {
  const ManifestFolder here;
  using Lines = std::vector<std::string>;
  here.folder().write("lr.csv", "# from the log\nloss,step,lr\n4,5,1\n3,60,12\n2,90,0\n");
  CHECK(annotated(here, "lr: {points: lr.csv}") ==
        Lines{"- ", "1 ", "2 ", "12 ", "4 ", "0 ", "- "});
  here.folder().write("sheet.csv",
                      "\xEF\xBB\xBFstep,note,\"lr\"\n5,\"warm, up\",1\n60, \"a \"\"b\"\", c\" ,12\n"
                      "90,,\"0\"\r\n");
  CHECK(annotated(here, "lr: {points: sheet.csv}") ==
        Lines{"- ", "1 ", "2 ", "12 ", "4 ", "0 ", "- "});
  here.folder().write("tokens.csv", "tokens,lr\r\n0,1\r\n1e9,0\r\n");
  CHECK(annotated(here, "tokens_per_step: 10M, lr: {points: tokens.csv}") ==
        Lines{"1 ", "0.95 ", "0.9 ", "0.4 ", "0.19999999999999996 ", "0.09999999999999998 ", "0 "});
}

TEST_CASE("learning rate: a points file that is none is refused with its line", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step0"});
  const std::pair<std::string, std::string> cases[] = {
      {"", "lr.csv: no points; wanted lines under a header like step,lr"},
      {"step,lr\n", "lr.csv: no points; wanted lines under a header like step,lr"},
      {"1,2\n3,4\n", "lr.csv:1: the header is \"1,2\", wanted columns step (or tokens) and lr"},
      {"step,lr\n1,2,3\n", "lr.csv:2: 3 columns, the header has 2"},
      {"step,lr\n1,x\n", "lr.csv:2: got \"x\", wanted a number of at least 0"},
      {"step,lr\n1,-1\n", "lr.csv:2: got \"-1\", wanted a number of at least 0"},
      {"step,lr\n1,nan\n", "lr.csv:2: got \"nan\", wanted a number of at least 0"},
      {"step,lr\n2,1\n2,1\n", "lr.csv:3: step = 2 comes behind 2, wanted ascending values"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    here.folder().write("lr.csv", text);
    CHECK(
        here.problems(with_checkpoints("{model: run, revisions: [step0], lr: {points: lr.csv}}")) ==
        "m.yaml:1:60: checkpoints: lr: " + message);
  }
}
