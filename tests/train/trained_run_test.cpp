// Whole trainings through the program: what is trained once, what a kill leaves, what a full disk
// leaves, and averages on the way.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "core/checkpoint/safetensors.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/train/training_scene.hpp"

namespace fs = std::filesystem;
using quench::test::Ended;
using quench::test::FaultPlan;
using quench::test::SceneSettings;
using quench::test::TrainingScene;

namespace {

SceneSettings with_forks() {
  SceneSettings out;
  out.rest =
      "steps: 16, every: 4, forks: {early: {steps: 10, decay_steps: 4}, late: {steps: 16, "
      "decay_steps: 6}}";
  return out;
}

// Starts without waiting; what it says goes to the file `err` of the scene.
quench::ChildProcess start(const TrainingScene& scene) {
  quench::Command child;
  child.words = scene.command();
  child.environment = quench::test::variables_of(scene.environment(), scene.path());
  child.folder = scene.path();
  child.streams = {
      quench::ChildStream::file(0, "/dev/null", O_RDONLY),
      quench::ChildStream::file(1, "/dev/null", O_WRONLY),
      quench::ChildStream::file(2, (scene.path() / "err").string(), O_WRONLY | O_CREAT | O_TRUNC)};
  return quench::ChildProcess::start(child);
}

size_t files_with(const fs::path& folder, const std::string& ending) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().ends_with(ending) ? 1 : 0;
  }
  return count;
}

// Waits until the first of the checkpoints to come is written, and a moment more, in which steps
// are made that no checkpoint has.
void wait_for_checkpoint(const TrainingScene& scene) {
  const auto said = [&] { return quench::test::read_file(scene.path() / "err"); };
  for (int i = 0; i < 6000 && said().find(": loss ") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

TEST_CASE("training: its checkpoints are folders that feed the grid", "[train]") {
  const TrainingScene scene({});
  const auto records = scene.records();
  REQUIRE(records.size() == 3);
  CHECK(records[0].at("checkpoint").at("step") == 4);
  CHECK(records[0].at("checkpoint").at("tokens") == 4 * 64);
  CHECK(records[0].at("checkpoint").at("lr") == 0.01);
  CHECK(records[0].at("checkpoint").at("phase") == "constant");
  CHECK(records[2].at("value").get<double>() < records[0].at("value").get<double>());
  const fs::path folder = scene.path() / "runs/m/checkpoints/step12";
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    CHECK(fs::exists(folder / name));
  }
  const auto log = scene.log("m");
  REQUIRE(log.size() == 12);
  CHECK(log[0].at("lr") == 0.005);
  // Drawn with a small deviation, the model begins near the uniform distribution.
  CHECK(log[0].at("loss").get<double>() == Approx(std::log(256)).epsilon(0.01));
  CHECK(log[0].at("gradient_norm").get<double>() > 0);
  CHECK(log[11].at("tokens") == 12 * 64);
  CHECK(log[11].at("mfu").get<double>() > 0);
  // The optimizer's state of the end alone stays.
  CHECK(files_with(scene.path() / "home/training", ".optimizer") == 1);
}

TEST_CASE("training: a plan counts the cells of a model that is not trained yet", "[train]") {
  const TrainingScene scene({});
  const nlohmann::json before = scene.whole_plan();
  for (const nlohmann::json& cell : before.at("cells")) {
    CHECK(cell.at("cost").at("flops") > 0);
  }
  // Starting takes longer than a training of 12 steps and its three cells.
  CHECK(before.at("total").at("seconds").get<double>() > 1);
  CHECK(before.at("training").at(0).at("segments").at(0).at("seconds").get<double>() > 0.05);
  CHECK(scene.records().size() == 3);
  const auto rates =
      nlohmann::json::parse(quench::test::read_file(scene.path() / "home/rates.json"));
  CHECK(rates.at("plugins").contains("train gpt_neox"));
  CHECK(rates.at("plugins").contains("metric validation_loss"));
}

TEST_CASE("training: submit expects of a model that is not trained yet what plan expects",
          "[train][cluster]") {
  const TrainingScene scene({});
  const nlohmann::json planned = scene.answer({"plan", "m.yaml", "--threads", "1"});
  double seconds = planned.at("training").at(0).at("segments").at(0).at("seconds");
  const double training = seconds;
  for (const nlohmann::json& cell : planned.at("cells")) {
    seconds += cell.at("cost").at("seconds").get<double>();
  }
  CHECK(seconds > training);
  const nlohmann::json sent = scene.answer(
      {"submit", "m.yaml", "--to", "slurm", "--dry-run", "--set", "cluster={cpus: 1, shares: 1}"});
  CHECK(sent.at("shares").at(0).at("seconds").get<double>() == Approx(seconds));
}

TEST_CASE("training: forks share the constant part and end as runs of their own", "[train]") {
  const TrainingScene scene(with_forks());
  const auto before = scene.plan();
  REQUIRE(before.size() == 1);
  REQUIRE(before[0].at("segments").size() == 3);
  CHECK(before[0].at("segments")[1].at("from") == 6);
  CHECK(before[0].at("segments")[2].at("from") == 10);
  scene.records();
  CHECK(scene.plan()[0].at("segments").empty());
  CHECK(scene.log("early").size() == 10);
  CHECK(scene.log("early")[3] == scene.log("trunk")[3]);  // the very same step

  SceneSettings alone;
  alone.rate = "{schedule: wsd, peak: 0.01, warmup: 2, decay_steps: 6}";
  alone.rest = "steps: 16, every: 4";
  const TrainingScene single(alone);
  single.records();
  CHECK(quench::test::differences(single.weights("step16"), scene.weights("late/step16")) == "");
  CHECK(quench::test::differences(single.weights("step8"), scene.weights("trunk/step8")) == "");
}

TEST_CASE("training: a fork may restart its decay, and shares what precedes the restart",
          "[train]") {
  SceneSettings settings;
  settings.rest =
      "steps: 12, every: 4, forks: {cyclic: {steps: 12, decay_steps: 4, decay: cosine, "
      "cycle_steps: 2}, falling: {steps: 12, decay_steps: 4, decay: cosine, cycle_steps: 2, "
      "cycle_factor: 0.5}}";
  const TrainingScene scene(settings);
  scene.records();
  const auto log = scene.log("cyclic");
  REQUIRE(log.size() == 12);
  CHECK(log[7].at("lr") == 0.01);
  CHECK(log[8].at("lr") == 0.01);
  CHECK(log[9].at("lr").get<double>() == Approx(0.005).epsilon(1e-14));
  CHECK(log[10].at("lr") == 0.01);
  CHECK(log[11].at("lr").get<double>() == Approx(0.005).epsilon(1e-14));
  CHECK(scene.log("falling")[9].at("loss") == log[9].at("loss"));
  CHECK(scene.log("falling")[10].at("lr") == 0.005);
  CHECK(scene.weights("falling/step12") != scene.weights("cyclic/step12"));
}

TEST_CASE("training: forks take the data in orders of their own", "[train]") {
  SceneSettings settings;
  settings.rest =
      "steps: 16, every: 4, forks: {same: {steps: 16, decay_steps: 6}, seed: {steps: 16, "
      "decay_steps: 6, order: 0}, other: {steps: 16, decay_steps: 6, order: 1}}";
  const TrainingScene scene(settings);
  scene.records();
  // The training's own seed is 0: another key, the same weights.
  CHECK(quench::test::differences(scene.weights("seed/step16"), scene.weights("same/step16")) ==
        "");
  CHECK(scene.weights("other/step16") != scene.weights("same/step16"));
  CHECK(scene.log("other")[9] == scene.log("trunk")[9]);
  CHECK(scene.log("other")[10].at("loss") != scene.log("same")[10].at("loss"));
  CHECK(scene.log("other")[10].at("lr") == scene.log("same")[10].at("lr"));
}

TEST_CASE("training: a fork may step by an optimizer of its own, from the state of the run's",
          "[train]") {
  SceneSettings settings;
  settings.rest =
      "steps: 16, every: 4, forks: {plain: {steps: 16, decay_steps: 6}, still: {steps: 16, "
      "decay_steps: 6, optimizer: {sam: {rho: 0}}}, same: {steps: 16, decay_steps: 6, optimizer: "
      "adamw}, flat: {steps: 16, decay_steps: 6, every: 3, "
      "optimizer: {sam: {rho: 0.1}}}}";
  const TrainingScene scene(settings);
  scene.records();
  // Without a neighbour sam is adamw, and it began with adamw's moments.
  CHECK(quench::test::differences(scene.weights("still/step16"), scene.weights("plain/step16")) ==
        "");
  CHECK(scene.log("flat")[9] == scene.log("trunk")[9]);
  CHECK(scene.log("flat")[10].at("loss") == scene.log("plain")[10].at("loss"));  // before its step
  CHECK(scene.log("flat")[11].at("loss") != scene.log("plain")[11].at("loss"));
  CHECK(scene.weights("flat/step16") != scene.weights("plain/step16"));
  // The run's own optimizer needs no training of its own.
  CHECK(fs::canonical(scene.path() / "runs/m/checkpoints/same/step16") ==
        fs::canonical(scene.path() / "runs/m/checkpoints/plain/step16"));
  const auto note =
      nlohmann::json::parse(
          quench::test::read_file(scene.path() / "runs/m/checkpoints/flat/step16/training.json"))
          .at("training");
  CHECK(note.at("optimizer").at("id") == "sam");
  CHECK(note.at("optimizer").at("params").at("rho") == 0.1);
}

TEST_CASE("training: a fork's optimizer that keeps another state is refused before a step",
          "[train]") {
  const std::string optimizer = GENERATE("{sgd: {}}", "soap", "{sam: {betas: [0.9, 1.5]}}");
  SceneSettings settings;
  settings.rest =
      "steps: 16, every: 4, forks: {turned: {steps: 16, decay_steps: 6, optimizer: " + optimizer +
      "}}";
  const TrainingScene scene(settings);
  const Ended ended = scene.run();
  INFO(ended.err);
  CHECK(ended.code != 0);
  if (optimizer == "{sgd: {}}") {
    CHECK_THAT(ended.err,
               Catch::Contains("train: fork turned: optimizer sgd cannot go on from the state of "
                               "adamw: it keeps momentum/") &&
                   Catch::Contains(", that one first_moment/"));
  }
  CHECK_FALSE(fs::exists(scene.path() / "home/training"));
}

TEST_CASE("training: a sweep may go over a fork's optimizers", "[train]") {
  SceneSettings settings;
  settings.rest = "steps: 12, every: 12, forks: {end: {steps: 12, decay_steps: 4}}";
  settings.sweep = "sweep: {train.forks.end.optimizer: [adamw, {sam: {rho: 0.1}}]}\n";
  const TrainingScene scene(settings);
  const auto records = scene.records();
  std::map<std::string, std::set<double>> losses;  // by branch
  for (const auto& record : records) {
    losses[record.at("checkpoint").at("branch").get<std::string>()].insert(
        record.at("value").get<double>());
  }
  CHECK(losses.at("trunk").size() == 1);
  CHECK(losses.at("end").size() == 2);
}

TEST_CASE("training: what is there is not trained again, by any manifest", "[train]") {
  const TrainingScene scene({});
  scene.records();
  const auto longer = scene.records({"--set", "train.steps=16"});
  CHECK(longer.size() == 4);
  CHECK(scene.log("m").size() == 16);
  SceneSettings whole;
  whole.rest = "steps: 16, every: 4";
  const TrainingScene other(whole);
  other.records();
  CHECK(quench::test::differences(other.weights("step16"), scene.weights("step16")) == "");
}

TEST_CASE("training: one and two threads give the same weights", "[train]") {
  const TrainingScene one({});
  const TrainingScene two({});
  one.records({"--threads", "1"});
  two.records({"--threads", "2"});
  CHECK(quench::test::differences(one.weights("step12"), two.weights("step12")) == "");
}

TEST_CASE("training: accumulated micro-batches give the batch's gradient", "[train]") {
  const TrainingScene whole({});
  SceneSettings settings;
  settings.rest += ", micro_batch: 1";
  const TrainingScene parts(settings);
  const auto a = whole.records();
  const auto b = parts.records();
  CHECK(a[2].at("value").get<double>() == Approx(b[2].at("value").get<double>()).epsilon(1e-5));
  CHECK(whole.weights("step12") != parts.weights("step12"));  // sums in another order
}

TEST_CASE("training: killed at random again and again, it ends with the same bits", "[train]") {
  const std::string optimizer = GENERATE("adamw", "schedule_free_adamw");
  SceneSettings settings = with_forks();
  settings.optimizer = optimizer;
  const TrainingScene undisturbed(settings);
  undisturbed.records();
  const TrainingScene scene(settings);
  std::mt19937 random(11);
  for (int i = 0; i < 8; ++i) {
    quench::ChildProcess child = start(scene);
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + random() % 700));
    child.end();
  }
  scene.records({"--threads", "1"});
  for (const char* name : {"trunk/step4", "trunk/step16", "early/step10", "late/step16"}) {
    CHECK(quench::test::differences(scene.weights(name), undisturbed.weights(name)) == "");
  }
  CHECK(scene.log("late").size() == 16);
}

TEST_CASE("training: killed at a call that writes, it goes on with the same bits", "[train]") {
  const TrainingScene undisturbed({});
  const TrainingScene scene({});
  const auto calls = undisturbed.run_under({}).calls;
  std::vector<size_t> of_training;
  for (size_t n = 1; n <= calls.size(); ++n) {
    if (calls[n - 1].path.find("home/training") != std::string::npos) {
      of_training.push_back(n);
    }
  }
  REQUIRE(of_training.size() > 30);
  for (size_t i = 0; i < of_training.size(); i += 20) {
    FaultPlan plan;
    plan.at = static_cast<long>(of_training[i]);
    plan.fault = "KILL";
    scene.reset();
    INFO("call " << plan.at << ": " << calls[of_training[i] - 1].name << " "
                 << calls[of_training[i] - 1].path);
    CHECK(scene.run_under(plan).ended.code == 128 + SIGKILL);
    scene.records();
    CHECK(quench::test::differences(scene.weights("step12"), undisturbed.weights("step12")) == "");
  }
}

TEST_CASE("training: a full disk is told by path, and what was written stays", "[train]") {
  const TrainingScene undisturbed({});
  const TrainingScene scene({});
  const auto calls = undisturbed.run_under({}).calls;
  // Where the second checkpoint's weights begin to be written.
  long at = 0;
  size_t opened = 0;
  for (size_t n = 1; n <= calls.size() && at == 0; ++n) {
    const bool weights = calls[n - 1].name.starts_with("open") &&
                         calls[n - 1].path.find("model.safetensors") != std::string::npos;
    opened += weights ? 1 : 0;
    at = opened == 2 ? static_cast<long>(n) : 0;
  }
  REQUIRE(at > 0);
  FaultPlan plan;
  plan.at = at;
  plan.fault = "ENOSPC";
  plan.from = true;
  const Ended full = scene.run_under(plan).ended;
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK(full.err.find("home/training") != std::string::npos);
  CHECK(full.err.find("No space left") != std::string::npos);
  const auto records = scene.records();
  CHECK(records.size() == 3);
  CHECK(quench::test::differences(scene.weights("step12"), undisturbed.weights("step12")) == "");
}

TEST_CASE("training: a stop on request leaves a state, whatever averages are open", "[train]") {
  SceneSettings settings;
  settings.averaging = "[{ema: {decay: 0.5, stride: 2}}, {lawa: {window: 3, every: 2}}]";
  settings.rest = "steps: 20k, every: 1000, snapshots: 2";
  const TrainingScene scene(settings);
  int64_t before = 0;
  for (const auto& [number, code] : {std::pair(SIGTERM, 75), std::pair(SIGINT, 130)}) {
    quench::ChildProcess child = start(scene);
    wait_for_checkpoint(scene);
    child.signal(SIGTSTP);  // Ctrl-Z and fg lose nothing either
    child.signal(SIGCONT);
    child.signal(number);
    CHECK(child.wait().code() == code);
    const std::string said = quench::test::read_file(scene.path() / "err");
    const auto plan = scene.plan();
    INFO(said << plan.dump());
    const auto from = plan[0].at("segments")[0].at("from").get<int64_t>();
    CHECK(from > before);
    CHECK(from % 1000 != 0);  // no checkpoint, but a state that the stop made
    const std::string line = "continuing from step " + std::to_string(before) + " of 20000\n";
    CHECK((said.find(line) != std::string::npos) == (before > 0));
    before = from;
  }
}

TEST_CASE("training: a second Ctrl-C ends at once and loses what came since the last state",
          "[train]") {
  SceneSettings settings;
  settings.rest = "steps: 20k, every: 1000";
  const TrainingScene scene(settings);
  quench::ChildProcess child = start(scene);
  wait_for_checkpoint(scene);
  child.signal(SIGTERM);
  REQUIRE(child.wait().code() == 75);
  const auto from = scene.plan()[0].at("segments")[0].at("from").get<int64_t>();
  child = start(scene);
  wait_for_checkpoint(scene);
  child.signal(SIGINT);
  child.signal(SIGINT);
  CHECK(child.wait().code() == 130);
  CHECK(scene.plan()[0].at("segments")[0].at("from").get<int64_t>() >= from);
}

TEST_CASE("training: verify tells what was damaged, and the next run makes it again", "[train]") {
  const TrainingScene scene({});
  const auto expected = scene.records();
  const std::string weights = scene.weights("step8");
  const auto verify = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {scene.command()[0], "verify"});
    return quench::test::run_program(more, scene.environment(), scene.path());
  };
  CHECK(verify({"--read-data"}).code == 0);
  const fs::path file =
      fs::canonical(scene.path() / "runs/m/checkpoints/step8") / "model.safetensors";
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-3, std::ios::end);
  stream.put('\x55');
  stream.close();
  CHECK(verify({}).code == 0);
  const Ended found = verify({"--read-data"});
  CHECK(found.code == 1);
  CHECK(found.out.starts_with(file.string() + ": its SHA-256 is "));
  const Ended again = scene.run();
  INFO(again.err << again.out);
  CHECK(again.code == 0);
  CHECK(again.err.find(file.string() + ": its SHA-256 is ") != std::string::npos);
  CHECK(quench::test::differences(scene.weights("step8"), weights) == "");
  CHECK(scene.records().size() == expected.size());
  CHECK(verify({"--read-data"}).code == 0);
}

TEST_CASE("training: a damaged row of a log is named, and the next run writes it again",
          "[train]") {
  const TrainingScene scene({});
  const auto expected = scene.records();
  const auto verify = [&] {
    return quench::test::run_program({scene.command()[0], "verify", "runs/m"}, scene.environment(),
                                     scene.path());
  };
  const fs::path file = scene.path() / "runs/m/training/m.jsonl";
  const std::string whole = quench::test::read_file(file);
  CHECK(verify().code == 0);
  std::string damaged = whole;
  const size_t digit = damaged.find("\"loss\":") + 7;
  damaged[digit] = damaged[digit] == '1' ? '2' : '1';
  std::ofstream(file, std::ios::binary) << damaged;
  const Ended found = verify();
  CHECK(found.code == 1);
  CHECK(found.out.starts_with("runs/m/training/m.jsonl:1: the checksum does not match\n"));
  CHECK(scene.records() == expected);
  CHECK(quench::test::read_file(file) == whole);
  CHECK(verify().code == 0);
}

TEST_CASE("training: averages on the way have the bits of averages of files", "[train]") {
  const std::string averaging =
      GENERATE("[{lawa: {window: 3, every: 2}}]", "[{ema: {decay: 0.5, stride: 2}}]");
  SceneSettings written;
  written.averaging = averaging;
  written.rest = "steps: 12, every: 2";
  SceneSettings live;
  live.averaging = averaging;
  live.rest = "steps: 12, every: 6, snapshots: 2";
  const TrainingScene offline(written);
  const TrainingScene passing(live);
  std::map<int64_t, double> expected;
  for (const auto& record : offline.records()) {
    if (!record.at("averaging").is_null()) {
      expected[record.at("checkpoint").at("step")] = record.at("value");
    }
  }
  size_t compared = 0;
  for (const auto& record : passing.records()) {
    if (!record.at("averaging").is_null()) {
      CHECK(record.at("value").get<double>() == expected.at(record.at("checkpoint").at("step")));
      CHECK(record.at("averaging").at("members").size() >= 3);
      ++compared;
    }
  }
  CHECK(compared == 2);
}

TEST_CASE("training: an average that a kill interrupted is made again", "[train]") {
  SceneSettings settings;
  settings.averaging = "[{lawa: {window: 4, every: 2}}]";
  settings.rest = "steps: 12, every: 5, snapshots: 2, at: [8]";
  const TrainingScene undisturbed(settings);
  const auto expected = undisturbed.records();
  const TrainingScene scene(settings);
  scene.records({"--set", "averaging=[]"});  // all checkpoints, no average
  const auto got = scene.records();
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].at("value") == expected[i].at("value"));
  }
}

TEST_CASE("training: a sweep over rates and seeds trains each point", "[train]") {
  SceneSettings settings;
  settings.sweep = "sweep: {train.lr.peak: [0.01, 0.02], seed: [0, 1]}\n";
  const TrainingScene scene(settings);
  const auto records = scene.records();
  REQUIRE(records.size() == 4 * 3);
  std::set<double> values;
  for (const auto& record : records) {
    values.insert(record.at("value").get<double>());
  }
  CHECK(values.size() == records.size());
  CHECK(fs::exists(scene.path() / "runs/m/checkpoints/job~3/step12/model.safetensors"));
}

TEST_CASE("training: a loss that is no number fails its cells and says where", "[train]") {
  SceneSettings settings;
  settings.optimizer = "sgd";  // its steps grow with the gradient
  settings.rate = "{schedule: constant, peak: 1e6}";
  settings.rest += ", clip: 0";
  const TrainingScene scene(settings);
  const Ended ended = scene.run();
  INFO(ended.err);
  CHECK(ended.code == 1);
  CHECK(ended.err.find(" at step ") != std::string::npos);
}

TEST_CASE("training: a validation corpus that overlaps is refused", "[train]") {
  SceneSettings settings;
  settings.rest += ", validation: {corpus: text, sequences: 2}";
  const TrainingScene scene(settings);
  const Ended ended = scene.run();
  CHECK(ended.code == 1);
  CHECK(ended.err.find("would cover training text") != std::string::npos);
  CHECK(scene.records({"--set", "train.validation.corpus=held_out"}).size() == 3);
  CHECK(scene.log("m")[3].at("validation_loss").get<double>() > 0);
}
