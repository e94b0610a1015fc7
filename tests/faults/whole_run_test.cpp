// `quench run` as a whole: killed at every call that writes, at random times, on disks that fail,
// and several times at once. However it goes, the records are those of the undisturbed run, and at
// most one cell was computed twice.
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "core/store/record_schema.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using namespace quench::test;

namespace {

constexpr const char* kWrittenRun =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: 4}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

// A folder with two checkpoints of the template's family and a manifest, and what a run of it
// gives.
class WritingRun {
 public:
  WritingRun() {
    const std::string script = std::string("perl ") + QUENCH_TINY_CHECKPOINT;
    fs::create_directory(folder_ / "models");
    for (const char* step : {"step1", "step2"}) {
      REQUIRE(
          std::system((script + " '" + (folder_ / "models" / step).string() + "' template_model")
                          .c_str()) == 0);
    }
    // The two must differ, or the second is the first's records under another name.
    std::fstream file(folder_ / "models/step2/model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-64, std::ios::end);
    file.put('\x11');
    file.close();
    std::string text;
    for (int i = 0; text.size() < 400; ++i) {
      text += "line " + std::to_string(i * 7919 % 1000) + "\n";
    }
    folder_.write("t.txt", text);
    folder_.write("m.yaml", kWrittenRun);
    run();  // probes the plugins
    fs::copy(folder_ / "home/plugins.json", folder_ / "plugins.json");
    reset();
    undisturbed_ = under({});
    REQUIRE(undisturbed_.ended.code == 0);
    expected_ = records();
    REQUIRE(expected_.size() == 6);  // 2 checkpoints × (float + quantized + error)
  }

  // Forgets all runs.
  void reset() {
    fs::remove_all(folder_ / "runs");
    fs::remove_all(folder_ / "home");
    fs::create_directory(folder_ / "home");
    fs::copy(folder_ / "plugins.json", folder_ / "home/plugins.json");
  }

  // Without a Python no page is drawn, which would take longer than all else of a run.
  std::map<std::string, std::string> environment() const {
    return {{"QUENCH_HOME", (folder_ / "home").string()},
            {"QUENCH_PLUGIN_PATH", (binary_dir() / "template").string()},
            {"QUENCH_PYTHON", "/no/python3"}};
  }
  static std::vector<std::string> command(std::vector<std::string> more = {}) {
    std::vector<std::string> out = {(binary_dir() / "bin/quench").string(), "run", "m.yaml"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  Ended run(std::vector<std::string> more = {}) const {
    return run_program(command(std::move(more)), environment(), folder_.path());
  }
  Ended run_with_page() const {
    auto with_python = environment();
    with_python.erase("QUENCH_PYTHON");
    return run_program(command(), with_python, folder_.path());
  }
  FaultedRun under(FaultPlan plan) const {
    plan.under = folder_.path().string();
    return run_under_faults(command(), plan, environment(), folder_.path());
  }
  size_t calls() const { return undisturbed_.calls.size(); }
  const WriteCall& call(size_t n) const { return undisturbed_.calls[n - 1]; }

  // The records of the finished run, without times.
  json records() const {
    const Ended ended = run({"--json"});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    json out = quench::test::data_of(ended.out).at("records");
    quench::strip_not_compared(out);
    return out;
  }
  const json& expected() const { return expected_; }

  // Evaluations that are in more than one attempt's file, derived values aside.
  size_t computed_twice() const {
    std::map<std::string, int> lines;
    for (const auto& entry : fs::directory_iterator(folder_ / "runs/m")) {
      if (!entry.path().filename().string().starts_with("records-")) {
        continue;
      }
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        const json read = json::parse(line, nullptr, false);
        if (!read.is_discarded() && read.at("record").at("cached").is_null() &&
            read.at("record").at("metric") == "validation_loss") {
          ++lines[read.at("record").at("key").get<std::string>()];
        }
      }
    }
    size_t twice = 0;
    for (const auto& [key, count] : lines) {
      twice += static_cast<size_t>(count - 1);
    }
    return twice;
  }

  // Lines of the attempts' files that are whole.
  size_t whole_records() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / "runs/m")) {
      if (entry.path().filename().string().starts_with("records-")) {
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) {
          count += json::accept(line) ? 1 : 0;
        }
      }
    }
    return count;
  }

  // What a killed process was writing and nobody goes on with.
  std::vector<std::string> half_written() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".tmp") {
        out.push_back(fs::relative(entry.path(), folder_.path()).string());
      }
    }
    return out;
  }

  const fs::path& path() const { return folder_.path(); }

 private:
  TemporaryDir folder_;
  FaultedRun undisturbed_;
  json expected_;
};

// The rerun of whatever is left behind.
void check_rerun(const WritingRun& scene) {
  CHECK(scene.records() == scene.expected());
  CHECK(scene.computed_twice() <= 1);
  CHECK(scene.half_written() == std::vector<std::string>());
}

}  // namespace

TEST_CASE("run: killed at every call that writes, it goes on and ends the same", "[faults]") {
  WritingRun scene;
  REQUIRE(scene.calls() > 20);
  for (size_t n = 1; n <= scene.calls(); ++n) {
    INFO("call " << n << " of " << scene.calls() << ": " << scene.call(n).name << " "
                 << scene.call(n).path);
    scene.reset();
    FaultPlan plan;
    plan.at = static_cast<long>(n);
    plan.fault = "KILL";
    CHECK(scene.under(plan).ended.code == 128 + SIGKILL);
    check_rerun(scene);
  }
}

TEST_CASE("run: a disk that fails at any call is told by path, and the run goes on later",
          "[faults]") {
  const std::vector<std::pair<std::string, bool>> faults = {
      {"ENOSPC", true}, {"EIO", false}, {"EROFS", true}, {"EDQUOT", false}};
  WritingRun scene;
  for (size_t n = 1; n <= scene.calls(); ++n) {
    const auto& [fault, from] = faults[n % faults.size()];
    INFO("call " << n << " of " << scene.calls() << ": " << fault << " at " << scene.call(n).name
                 << " " << scene.call(n).path);
    scene.reset();
    FaultPlan plan;
    plan.at = static_cast<long>(n);
    plan.fault = fault;
    plan.from = from;
    const Ended ended = scene.under(plan).ended;
    // What is only kept for speed (times, hashes, tokens, signs of life) is no reason to fail.
    if (ended.code != 0) {
      CHECK(ended.code == 1);
      // The home, or the folder of all runs, is named where it is the one that could not be made or
      // synced.
      const bool names_path = ended.err.find("runs/m") != std::string::npos ||
                              ended.err.find("home/") != std::string::npos ||
                              ended.err.find("home: ") != std::string::npos ||
                              ended.err.find("runs: ") != std::string::npos;
      INFO(ended.err);
      CHECK(names_path);
    }
    check_rerun(scene);
  }
}

TEST_CASE("run: a full disk says how many records are kept and what goes on with them",
          "[faults]") {
  WritingRun scene;
  size_t records = 0;  // writes of them so far
  for (size_t n = 1; n <= scene.calls(); ++n) {
    const WriteCall& call = scene.call(n);
    if (call.name != "write" || call.path.find("/m/records-") == std::string::npos) {
      continue;
    }
    INFO("write " << ++records << " of a record");
    scene.reset();
    FaultPlan plan;
    plan.at = static_cast<long>(n);
    plan.fault = "ENOSPC";
    plan.from = true;
    const Ended ended = scene.under(plan).ended;
    INFO(ended.err);
    CHECK(ended.code == 1);
    const std::string kept = fmt::format(
        "; {} new records are in runs/m; make room, then continue "
        "with: ",
        scene.whole_records());
    const size_t at = ended.err.find(kept);
    REQUIRE(at != std::string::npos);
    CHECK(ended.err.find("o space left on ") <
          at);  // of the record, or of what other threads write
    const std::string command = ended.err.substr(at + kept.size());
    const Ended again = run_program({"/bin/sh", "-c", command}, scene.environment(), scene.path());
    INFO(command << again.err);
    CHECK(again.code == 0);
    check_rerun(scene);
  }
  CHECK(records == 4);  // 2 checkpoints × (float + quantized)
}

TEST_CASE("run: a failed fsync or close of a record is no finished cell", "[faults]") {
  WritingRun scene;
  for (const char* call : {"fsync", "close"}) {
    bool more = true;
    for (long n = 1; more; ++n) {
      INFO(call << " " << n);
      scene.reset();
      FaultPlan plan;
      plan.calls = call;
      plan.at = n;
      plan.fault = call == std::string("close") ? "EDQUOT" : "EIO";
      const FaultedRun run = scene.under(plan);
      more = static_cast<long>(run.calls.size()) >= n;
      CHECK((run.ended.code == 0 || run.ended.code == 1));
      check_rerun(scene);
    }
  }
}

TEST_CASE("run: killed at random times, again and again, it ends the same", "[faults]") {
  const char* wanted = std::getenv("QUENCH_RANDOM_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 40;
  WritingRun scene;
  scene.reset();
  std::mt19937 random(20);
  const auto quick = [&] { return std::chrono::microseconds(random() % 120'000); };
  for (int i = 0; i < kills; ++i) {
    quench::ChildProcess child =
        start_silently(WritingRun::command(), scene.environment(), scene.path());
    std::this_thread::sleep_for(quick());
    child.end();
    if (i % 8 == 7) {
      INFO("after " << i + 1 << " kills");
      CHECK(scene.records() == scene.expected());
      scene.reset();
    }
  }
  CHECK(scene.records() == scene.expected());
}

TEST_CASE("run: two and eight processes on one run make the same table", "[faults]") {
  WritingRun scene;
  for (const size_t processes : {size_t{2}, size_t{8}}) {
    scene.reset();
    std::vector<std::thread> threads;
    std::vector<Ended> ended(processes);
    for (size_t p = 0; p < processes; ++p) {
      threads.emplace_back([&, p] { ended[p] = scene.run_with_page(); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const Ended& each : ended) {
      INFO(each.err);
      CHECK(each.code == 0);
    }
    // Of pages that several write, one is there; none where no Python has what draws it.
    const fs::path page = scene.path() / "runs/m/report.html";
    CHECK(fs::exists(page) == (ended[0].err.find("no report is written") == std::string::npos));
    CHECK((!fs::exists(page) || read_file(page).ends_with("</html>\n")));
    CHECK(scene.records() == scene.expected());
  }
}
