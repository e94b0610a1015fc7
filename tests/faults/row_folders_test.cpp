// Folders of weights of a run: written by several processes at once where locks are granted to
// everybody, killed, and on full disks. However it goes, a folder under its name is whole.
#include <signal.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/store/sealed_folder.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using namespace quench::test;

namespace {

constexpr const char* kManifest =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "averaging:\n"
    "  - soup: {}\n"
    "    keep: true\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: 4, group_size: 16}\n"
    "    label: q\n"
    "    export: gptq\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

class Scene {
 public:
  Scene() {
    const std::string script = std::string("perl ") + QUENCH_TINY_CHECKPOINT;
    fs::create_directory(folder_ / "models");
    for (const char* step : {"step1", "step2"}) {
      REQUIRE(
          std::system((script + " '" + (folder_ / "models" / step).string() + "' template_model")
                          .c_str()) == 0);
    }
    std::string text;
    for (int i = 0; text.size() < 400; ++i) {
      text += "line " + std::to_string(i * 7919 % 1000) + "\n";
    }
    folder_.write("t.txt", text);
    folder_.write("m.yaml", kManifest);
    REQUIRE(run().code == 0);  // probes the plugins, measures
    plugins_ = read_file(folder_ / "home/plugins.json");
  }

  void forget_run() const {
    fs::remove_all(folder_ / "runs");
    fs::remove_all(folder_ / "home");
    folder_.write("home/plugins.json", plugins_);
  }
  // Without a Python no page is drawn, which would take longer than all else of a run.
  std::map<std::string, std::string> environment() const {
    return {{"QUENCH_HOME", (folder_ / "home").string()},
            {"QUENCH_PLUGIN_PATH", (binary_dir() / "template").string()},
            {"QUENCH_PYTHON", "/no/python3"}};
  }
  static std::vector<std::string> command(const std::vector<std::string>& more = {}) {
    std::vector<std::string> out = {(binary_dir() / "bin/quench").string(), "run", "m.yaml"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  Ended run(const std::vector<std::string>& more = {}) const {
    return run_program(command(more), environment(), folder_.path());
  }
  FaultedRun under(const FaultPlan& plan, const std::vector<std::string>& more = {}) const {
    return run_under_faults(command(more), plan, environment(), folder_.path());
  }
  fs::path results() const { return folder_ / "runs/m"; }
  std::vector<fs::path> folders() const {
    return {results() / "exports/step1/q", results() / "exports/step2/q",
            results() / "averages/soup+at+step2"};
  }
  // Temporary folders that lie about.
  size_t leftovers() const {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(results())) {
      count += entry.path().extension() == ".partial" ? 1 : 0;
    }
    return count;
  }
  const TemporaryDir& folder() const { return folder_; }

 private:
  TemporaryDir folder_;
  std::string plugins_;
};

// "" where the folder is whole.
std::string fault_of(const fs::path& folder) {
  const std::string foreign = quench::foreign_content(folder);
  return !fs::exists(folder) ? "absent" : !foreign.empty() ? foreign : quench::damage_of(folder);
}

}  // namespace

TEST_CASE("row folders: processes that all hold the lock leave whole folders, and all end well",
          "[faults]") {
  const Scene scene;
  const char* wanted = std::getenv("QUENCH_FOLDER_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 6;
  for (int round = 0; round < rounds; ++round) {
    scene.forget_run();
    std::vector<Ended> ended(round % 2 == 0 ? 8 : 4);
    std::vector<std::thread> threads;
    for (size_t p = 0; p < ended.size(); ++p) {
      threads.emplace_back([&, p] {
        FaultPlan plan;
        plan.drop = "flock";  // succeeds for everybody
        ended[p] = scene.under(plan).ended;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const Ended& each : ended) {
      INFO(each.err);
      CHECK(each.code == 0);
    }
    for (const fs::path& folder : scene.folders()) {
      INFO(folder);
      CHECK(fault_of(folder).empty());
    }
    CHECK(scene.leftovers() == 0);
  }
}

TEST_CASE("row folders: killed processes beside others harm nobody", "[faults]") {
  const Scene scene;
  for (long round = 0; round < 6; ++round) {
    scene.forget_run();
    std::vector<Ended> ended(6);
    std::vector<std::thread> threads;
    for (size_t p = 0; p < ended.size(); ++p) {
      threads.emplace_back([&, p] {
        FaultPlan plan;
        plan.drop = "flock";
        plan.under = scene.results().string();
        if (p % 2 == 0) {
          plan.fault = "KILL";
          plan.at = 12 + 9 * round + static_cast<long>(p);
        }
        ended[p] = scene.under(plan).ended;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (size_t p = 1; p < ended.size(); p += 2) {
      INFO(ended[p].err);
      CHECK(ended[p].code == 0);
    }
    REQUIRE(scene.run().code == 0);
    for (const fs::path& folder : scene.folders()) {
      INFO(folder);
      CHECK(fault_of(folder).empty());
    }
  }
}

TEST_CASE("row folders: killed at any call while one is replaced, the name has a whole folder",
          "[faults]") {
  const Scene scene;
  const std::vector<std::string> other = {"--set", "quantizers.0.template_quantizer.bits=8"};
  FaultPlan plan;
  plan.under = (scene.results() / "exports").string();
  const size_t calls = scene.under(plan, other).calls.size();
  REQUIRE(calls > 20);
  REQUIRE(scene.run().code == 0);
  plan.fault = "KILL";
  for (plan.at = 1; plan.at <= static_cast<long>(calls); ++plan.at) {
    INFO("call " << plan.at << " of " << calls);
    // What was replaced before the kill is not written again: bits go to and fro.
    const bool to = plan.at % 2 == 1;
    scene.under(plan, to ? other : std::vector<std::string>{});
    for (const fs::path& folder : scene.folders()) {
      INFO(folder);
      CHECK(fault_of(folder).empty());
    }
    const Ended rerun = scene.run(to ? other : std::vector<std::string>{});
    INFO(rerun.err);
    CHECK(rerun.code == 0);
    CHECK(scene.leftovers() == 0);
  }
}

TEST_CASE("row folders: a full disk is told by folder, the values stay, and the next run writes it",
          "[faults]") {
  const Scene scene;
  const auto [where, fault] = GENERATE(table<std::string, std::string>(
      {{"exports", "ENOSPC"}, {"averages", "ENOSPC"}, {"exports", "EDQUOT"}, {"averages", "EIO"}}));
  for (long at = 1; at < 20; at += 3) {
    INFO(where << " " << fault << " from call " << at);
    scene.forget_run();
    FaultPlan plan;
    plan.under = (scene.results() / where).string();
    plan.fault = fault;
    plan.at = at;
    plan.from = true;
    const Ended ended = scene.under(plan, {"--json"}).ended;
    INFO(ended.err);
    CHECK(ended.code == 1);
    const json told = quench::test::data_of(ended.out);
    CHECK(told.at("unwritten").size() == (where == "exports" ? 2 : 1));
    CHECK_THAT(told.at("unwritten").at(0).get<std::string>(),
               Catch::Contains("runs/m/" + where) && Catch::Contains(" is not written: "));
    for (const json& record : told.at("records")) {
      CHECK(record.at("error").is_null());
    }
    CHECK(scene.run().code == 0);
    for (const fs::path& folder : scene.folders()) {
      CHECK(fault_of(folder).empty());
    }
    CHECK(scene.leftovers() == 0);
  }
}

TEST_CASE("run: the names of a new run's folders are made durable", "[faults]") {
  const Scene scene;
  scene.forget_run();
  FaultPlan plan;
  plan.under = scene.folder().path().string();
  const FaultedRun run = scene.under(plan);
  REQUIRE(run.ended.code == 0);
  const auto synced_after = [&](const std::string& made, const std::string& above) {
    bool there = false;
    for (const WriteCall& call : run.calls) {
      there = there || (call.name == "mkdir" && call.path == made);
      if (there && call.name == "fsync" && call.path == above) {
        return true;
      }
    }
    return false;
  };
  CHECK(synced_after("runs", "."));
  CHECK(synced_after("runs/m", "runs"));
  CHECK(synced_after("runs/m/averages", "runs/m"));
  CHECK(synced_after("runs/m/exports/step1", "runs/m/exports"));
}

TEST_CASE("run: a limit of a file's size is an error with a path, not a death", "[faults]") {
  const Scene scene;
  scene.forget_run();
  const std::string program = Scene::command()[0];
  const Ended ended =
      run_program({"/bin/sh", "-c", "ulimit -f 4 && exec \"$0\" run m.yaml", program},
                  scene.environment(), scene.folder().path());
  CHECK(ended.code == 1);
  CHECK_THAT(ended.err, Catch::Contains("File too large"));
}
