// A run in shares: each machine computes its part of the grid.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kManifest =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: [3, 4]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

// Checkpoints step1 to step5 and the manifest.
void make_models(const Workplace& here) {
  fs::create_directory(here.folder() / "models");
  for (int step = 1; step <= 5; ++step) {
    fs::copy(here.folder() / "tiny", here.folder() / ("models/step" + std::to_string(step)),
             fs::copy_options::recursive);
  }
  here.folder().write("m.yaml", kManifest);
}

nlohmann::json json_of(const Outcome& got) {
  INFO(got.err);
  REQUIRE(got.code == 0);
  return quench::test::data_of(got.out);
}

// Names of the cells whose records a run printed.
std::vector<std::string> cells_of(const nlohmann::json& run) {
  std::vector<std::string> out;
  for (const nlohmann::json& record : run.at("records")) {
    if (record.at("metric") == "validation_loss") {
      out.push_back(record.at("checkpoint").at("revision").get<std::string>() + " " +
                    (record.at("quantizer").is_null()
                         ? "float"
                         : record.at("quantizer").at("label").get<std::string>()));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("shares: a share that does not exist is refused before anything is done",
          "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  for (const char* verb : {"run", "plan"}) {
    for (const char* wrong : {"0/3", "4/3", "x/3", "2"}) {
      CAPTURE(verb, wrong);
      const Outcome got = here.run({verb, "m.yaml", "--share", wrong});
      CHECK(got.code == 2);
      CHECK_THAT(got.err, Contains("--share: got '" + std::string(wrong) + "', wanted I/N"));
    }
  }
  CHECK(here.run({"plan", "m.yaml", "--shares", "0"}).code == 2);
  CHECK(here.run({"plan", "m.yaml", "--shares", "2", "--share", "1/2"}).code == 2);
  CHECK_FALSE(fs::exists(here.folder() / "runs"));
}

TEST_CASE("shares: three of them compute every cell once, as the plan says", "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  const nlohmann::json plan = json_of(here.run({"plan", "m.yaml", "--shares", "3", "--json"}));
  REQUIRE(plan.at("shares").size() == 3);
  std::vector<std::string> all;
  for (size_t i = 0; i < 3; ++i) {
    const std::string share = std::to_string(i + 1) + "/3";
    CAPTURE(share);
    const nlohmann::json planned = plan.at("shares").at(i);
    CHECK(planned.at("share") == share);
    const std::string folder = "runs/share" + std::to_string(i + 1);
    const std::vector<std::string> cells =
        cells_of(json_of(here.run({"run", "m.yaml", "--share", share, "--out", folder, "--json"})));
    CHECK(cells.size() == planned.at("cells"));
    std::set<std::string> weights;
    for (const std::string& cell : cells) {
      weights.insert(cell.substr(0, cell.find(' ')));
    }
    CHECK(nlohmann::json(weights) == planned.at("weights"));
    CHECK(planned.at("cost").get<double>() == Approx(static_cast<double>(weights.size()) / 5));
    const auto description =
        nlohmann::json::parse(quench::test::read_file(here.folder() / folder / "run.json"));
    CHECK(description.at("share") ==
          nlohmann::json{{"number", i + 1}, {"of", 3}, {"split", plan.at("split")}});
    all.insert(all.end(), cells.begin(), cells.end());
  }
  CHECK(all.size() == 15);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 15);
}

TEST_CASE("shares: a task of an array computes the share that its engine numbers",
          "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  const auto run = [&](const std::string& task, const Workplace::Arguments& arguments) {
    quench::Command command = here.command(arguments);
    for (const std::string& variable :
         {"SLURM_ARRAY_TASK_ID=" + task, std::string("SLURM_ARRAY_TASK_MIN=10"),
          std::string("SLURM_ARRAY_TASK_MAX=12"), std::string("SLURM_ARRAY_TASK_STEP=1"),
          std::string("SLURM_ARRAY_TASK_COUNT=3")}) {
      command.environment->push_back(variable);
    }
    quench::ChildProcess process = quench::ChildProcess::start(command);
    return here.wait(process);
  };
  for (int share = 1; share <= 3; ++share) {
    const std::string task = std::to_string(9 + share);
    CAPTURE(task);
    const std::string text = std::to_string(share) + "/3";
    const auto by_number =
        cells_of(json_of(here.run({"run", "m.yaml", "--share", text, "--out", "a", "--json"})));
    const auto by_engine =
        cells_of(json_of(run(task, {"run", "m.yaml", "--share=auto", "--out", "b", "--json"})));
    CHECK(by_engine == by_number);
  }
  const Outcome said = run("12", {"run", "m.yaml", "--share", "auto"});
  CHECK(said.code == 0);
  CHECK_THAT(said.out, Catch::Matchers::StartsWith("share 3 of 3 (Slurm array)\n"));

  const Outcome outside = run("13", {"run", "m.yaml", "--share", "auto", "--out", "none"});
  CHECK(outside.code == 2);
  CHECK_THAT(outside.err,
             Contains("--share auto: Slurm array: got SLURM_ARRAY_TASK_ID = 13, wanted "
                      "10..12, one of 3 tasks"));
  CHECK_FALSE(fs::exists(here.folder() / "none"));
  const Outcome alone = here.run({"run", "m.yaml", "--share", "auto"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, Contains("--share auto: no engine numbers this task, wanted one of "
                                 "SLURM_ARRAY_TASK_ID, "));
}

TEST_CASE("shares: a share needs only the checkpoints that it has", "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  const nlohmann::json plan = json_of(here.run({"plan", "m.yaml", "--shares", "2", "--json"}));
  for (const nlohmann::json& name : plan.at("shares").at(0).at("weights")) {
    // Its name is part of the manifest, its files are not here.
    fs::remove_all(here.folder() / "models" / name.get<std::string>());
    fs::create_directory(here.folder() / "models" / name.get<std::string>());
  }
  const Outcome second = here.run({"run", "m.yaml", "--share", "2/2"});
  CAPTURE(second.err);
  CHECK(second.code == 0);
  CHECK(here.run({"run", "m.yaml", "--share", "1/2"}).code == 1);
}

TEST_CASE("shares: one with nothing in it is done at once", "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  const Outcome got = here.run({"run", "m.yaml", "--share", "6/6"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains("share 6/6 has nothing to do"));
  CHECK(cells_of(json_of(here.run({"run", "m.yaml", "--share", "6/6", "--json"}))).empty());
  CHECK(json_of(here.run({"plan", "m.yaml", "--share", "6/6", "--json"})).at("cells").empty());
}

TEST_CASE("shares: the plan shows their weights, cells and cost", "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  const Outcome got = here.run({"plan", "m.yaml", "--shares", "2"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains("1/2") && Contains("2/2") && Contains("step1, step3, step5") &&
                          Contains("60.0 %") && Contains("40.0 %") &&
                          Contains("m: this split is "));
}

TEST_CASE("shares: the plan names the points of a sweep by what they set", "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  here.folder().write("m.yaml", kManifest + "sweep: {seed: [3, 4]}\n");
  CHECK_THAT(here.run({"plan", "m.yaml", "--shares", "2"}).out,
             Contains("seed=3, step1") && Contains("seed=4, step1"));
}

TEST_CASE("plan: 652 points take less than a second of processor time", "[cli][shares]") {
  const Workplace here{Page::kNone};
  make_models(here);
  std::string seeds = "0";
  for (int seed = 1; seed < 652; ++seed) {
    seeds += ", " + std::to_string(seed);
  }
  here.folder().write("m.yaml", kManifest + "sweep: {seed: [" + seeds + "]}\n");
  REQUIRE(here.run({"plan", "m.yaml", "--jobs"}).code == 0);  // probes what was never probed
  for (const char* option : {"--all", "--shares=16", "--jobs"}) {
    CAPTURE(option);
    quench::ChildProcess process = here.start({"plan", "m.yaml", option});
    const quench::ProcessEnd end = process.wait();
    CHECK(end.code() == 0);
    const double seconds = static_cast<double>(end.usage.ru_utime.tv_sec) +
                           static_cast<double>(end.usage.ru_stime.tv_sec) +
                           static_cast<double>(end.usage.ru_utime.tv_usec) * 1e-6 +
                           static_cast<double>(end.usage.ru_stime.tv_usec) * 1e-6;
    CHECK(seconds < 1);
  }
}
