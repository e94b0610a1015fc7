// `run --fetch` with `storage`: revisions come while others are measured, and their weights go.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "core/store/run_folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/hub_server.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::differences;
using quench::test::HubServer;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

constexpr size_t kRevisions = 6;

std::string manifest_of(const std::string& checkpoints, const std::string& more = "") {
  return "name: m\ncheckpoints: " + checkpoints +
         "\nmetrics:\n  - validation_loss: {corpus: short, block: 16}\n"
         "corpora: {short: {text: {path: t.txt}}}\n" +
         more;
}

const std::string kHub =
    "{model: hf://org/tiny, revisions: [step1, step2, step3, step4, step5, step6]}";
const std::string kLocal = "{model: models, revisions: [step1, step2, step3, step4, step5, step6]}";
const std::string kMore =
    "averaging:\n  - lawa: {window: [2, 3]}\nquantizers:\n  - template_quantizer: {bits: [3]}\n";

// Six checkpoints that differ: folders in `models`, and revisions of org/tiny on the hub.
class Scene {
 public:
  Scene() {
    const fs::path tiny = here.folder() / "tiny";
    const std::string weights = quench::test::read_file(tiny / "model.safetensors");
    bytes = weights.size();
    for (size_t step = 1; step <= kRevisions; ++step) {
      const std::string name = "step" + std::to_string(step);
      for (const auto& entry : fs::directory_iterator(tiny)) {
        std::string content = quench::test::read_file(entry.path());
        if (entry.path().filename() == "model.safetensors") {
          for (size_t back = 1; back < 4000; back += 4 * step) {  // lowest bits of floats
            content[content.size() - 4 * back] ^= 7;
          }
        }
        const std::string file = entry.path().filename().string();
        server.add("models/org/tiny/" + name + "/" + file, content);
        here.folder().write("models/" + name + "/" + file, content);
      }
    }
  }

  quench::Command command(const std::vector<std::string>& arguments,
                          const std::string& home = "home") const {
    quench::Command out = here.command(arguments);
    std::erase_if(*out.environment,
                  [](const std::string& v) { return v.starts_with("QUENCH_HOME="); });
    out.environment->push_back("QUENCH_HOME=" + (here.folder() / home).string());
    out.environment->push_back("HF_HUB_CACHE=" + cache().string());
    out.environment->push_back("HF_ENDPOINT=" + server.endpoint());
    return out;
  }
  Outcome run(const std::vector<std::string>& arguments, const std::string& home = "home") const {
    quench::ChildProcess process = quench::ChildProcess::start(command(arguments, home));
    return here.wait(process);
  }
  fs::path cache() const { return here.folder() / "cache"; }
  fs::path repository() const { return cache() / "models--org--tiny"; }
  // Room for so many revisions, and for small files.
  std::string limit(size_t revisions) const {
    return "storage: {limit: " + std::to_string(revisions * bytes + kSmall) + ", evict: done}\n";
  }
  uint64_t limit_bytes(size_t revisions) const { return revisions * bytes + kSmall; }

  // Files of weights that are in the cache.
  size_t weights() const {
    size_t out = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(repository() / "blobs", error)) {
      std::error_code gone;
      out += entry.file_size(gone) == bytes ? 1 : 0;
    }
    return out;
  }
  uint64_t blob_bytes() const {
    uint64_t out = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(repository() / "blobs", error)) {
      std::error_code gone;
      const uint64_t size = entry.file_size(gone);
      out += gone ? 0 : size;
    }
    return out;
  }
  // The cache takes the weights of a revision away, as an eviction does.
  void take_away(const std::string& revision) const {
    const std::string commit = quench::test::read_file(repository() / "refs" / revision);
    const fs::path link = repository() / "snapshots" / commit / "model.safetensors";
    fs::remove(fs::canonical(link));
    fs::remove(link);
  }

  static constexpr size_t kSmall = 20'000;
  Workplace here{Page::kNone};
  HubServer server;
  size_t bytes = 0;  // of one revision's weights
};

// What was measured, a line for each cell, without where the weights came from and how long it
// took.
std::string values_of(const fs::path& run) {
  std::set<std::string> lines;
  for (const quench::Record& record : quench::read_run(run).records) {
    json value = to_json(record);
    for (const char* name : {"seconds", "cached", "details"}) {
      value.erase(name);
    }
    value["checkpoint"].erase("model");
    value["checkpoint"].erase("commit");
    value["environment"].erase("peak_memory_bytes");
    lines.insert(value.dump());
  }
  std::string out;
  for (const std::string& line : lines) {
    out += line + "\n";
  }
  return out;
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

json plan_counts(const Scene& scene) {
  const Outcome got = scene.run({"plan", "m.yaml", "--json"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  return quench::test::data_of(got.out).at("counts");
}

}  // namespace

TEST_CASE("storage: cells stay done when the cache has lost their weights", "[cli]") {
  Scene scene;
  scene.server.start();
  scene.here.folder().write("m.yaml",
                            manifest_of("{model: hf://org/tiny, revisions: [step1, step2]}"));
  REQUIRE(scene.run({"run", "m.yaml", "--fetch"}).code == 0);
  scene.take_away("step1");
  scene.take_away("step2");
  CHECK(plan_counts(scene) == json{{"done", 2}});
  const Outcome again = scene.run({"run", "m.yaml"});
  CAPTURE(again.out, again.err);
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("2 records, 0 of them new"));
  CHECK_THAT(scene.run({"why", "m.yaml", "step1"}).out, Contains("done: runs/m has a record"));
  CHECK_THAT(scene.run({"status", "m"}).out, Contains("records  2 done, 0 failed"));
  CHECK_THAT(scene.run({"results", "m"}).out, Contains("step2"));
}

TEST_CASE("storage: a cell that needs weights which are gone says the command, and is no failure",
          "[cli]") {
  Scene scene;
  scene.server.start();
  const std::string checkpoints = "{model: hf://org/tiny, revisions: [step1, step2]}";
  scene.here.folder().write("m.yaml", manifest_of(checkpoints));
  REQUIRE(scene.run({"run", "m.yaml", "--fetch"}).code == 0);
  scene.take_away("step1");
  scene.here.folder().write(
      "m.yaml", manifest_of(checkpoints, "quantizers:\n  - template_quantizer: {bits: [3]}\n"));
  CHECK(plan_counts(scene) == json{{"done", 2}, {"to do", 1}, {"blocked", 1}});
  CHECK_THAT(scene.run({"plan", "m.yaml"}).out,
             Contains("its weights are not in the cache") &&
                 Contains("get them with: quench fetch hf://org/tiny@step1"));
  const Outcome without = scene.run({"run", "m.yaml"});
  CAPTURE(without.out, without.err);
  CHECK(without.code == 1);
  CHECK_THAT(without.err, Contains("get them with: quench fetch hf://org/tiny@step1"));
  CHECK(plan_counts(scene) == json{{"done", 3}, {"blocked", 1}});
  REQUIRE(scene.run({"fetch", "hf://org/tiny@step1"}).code == 0);
  CHECK(plan_counts(scene) == json{{"done", 3}, {"to do", 1}});
  CHECK(scene.run({"run", "m.yaml"}).code == 0);
  CHECK(plan_counts(scene) == json{{"done", 4}});
}

TEST_CASE("storage: with room for three revisions the records are those of a run that has all",
          "[cli]") {
  Scene scene;
  scene.server.start({"--fault", "slow:safetensors:20000"});
  scene.here.folder().write("local.yaml", manifest_of(kLocal, kMore));
  const Outcome local = scene.run({"run", "local.yaml"}, "home-of-local");
  CAPTURE(local.err);
  REQUIRE(local.code == 0);
  scene.here.folder().write("m.yaml", manifest_of(kHub, kMore + scene.limit(3)));
  // It was there before: a fetch of the user's.
  REQUIRE(scene.run({"fetch", "hf://org/tiny@step2"}).code == 0);
  const uint64_t before = scene.blob_bytes();

  std::atomic<bool> done = false;
  uint64_t most = 0;
  std::thread sampler([&] {
    while (!done) {
      most = std::max(most, scene.blob_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const Outcome ran = scene.run({"run", "m.yaml", "--fetch", "--out", "runs/hub"});
  done = true;
  sampler.join();
  CAPTURE(ran.out, ran.err);
  REQUIRE(ran.code == 0);
  CHECK(most > before + scene.bytes);
  CHECK(most <= before + scene.limit_bytes(3));
  CHECK(scene.weights() == 1);  // the user's
  CHECK(fs::exists(scene.repository() / "refs/step6"));
  const std::string values = values_of(scene.here.folder() / "runs/hub");
  CHECK(lines_of(values) == 2 * (6 + 5 + 4));
  CHECK(differences(values, values_of(scene.here.folder() / "runs/m")) == "");

  // Each revision but the user's came once.
  CHECK(scene.server.count("model.safetensors") ==
        12);  // one redirect and one file each, 6 of them
  const size_t asked = scene.server.requests().size();
  const Outcome again = scene.run({"run", "m.yaml", "--fetch", "--out", "runs/hub"});
  CAPTURE(again.err);
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("30 records, 0 of them new"));
  CHECK(scene.server.requests().size() == asked);
  const Outcome planned = scene.run({"plan", "m.yaml", "--out", "runs/hub"});
  CHECK_THAT(planned.out, Contains("m: 30 cells: 30 done") &&
                              Contains("storage: no revision is needed any more"));
}

TEST_CASE("storage: killed again and again it ends with the same records and an empty cache",
          "[cli]") {
  Scene scene;
  scene.here.folder().write("local.yaml", manifest_of(kLocal, kMore));
  REQUIRE(scene.run({"run", "local.yaml"}, "home-of-local").code == 0);
  scene.here.folder().write("m.yaml", manifest_of(kHub, kMore + scene.limit(3)));
  scene.server.start({"--fault", "slow:safetensors:6000"});
  std::mt19937 random(3);
  uint64_t most = 0;
  int killed = 0;
  constexpr int kKills = 12;
  for (int i = 0; i < kKills; ++i) {
    quench::ChildProcess process = quench::ChildProcess::start(
        scene.command({"run", "m.yaml", "--fetch", "--out", "runs/hub"}));
    killed += process.ends_within(std::chrono::milliseconds(200 + random() % 900)) ? 0 : 1;
    process.end();
    most = std::max(most, scene.blob_bytes());
  }
  CHECK(killed > 2);
  const Outcome last = scene.run({"run", "m.yaml", "--fetch", "--out", "runs/hub"});
  CAPTURE(last.out, last.err, killed);
  CHECK(last.code == 0);
  CHECK(most <= scene.limit_bytes(3));
  CHECK(scene.weights() == 0);
  CHECK(differences(values_of(scene.here.folder() / "runs/hub"),
                    values_of(scene.here.folder() / "runs/m")) == "");
  for (const auto& entry : fs::recursive_directory_iterator(scene.cache())) {
    CHECK(entry.path().extension() != ".incomplete");
    CHECK(entry.path().filename() != ".quench");
  }
}

TEST_CASE("storage: `plan` shows the peak and refuses a limit below the largest average", "[cli]") {
  Scene scene;
  scene.server.start();
  scene.here.folder().write("m.yaml", manifest_of(kHub, kMore + "storage: {evict: done}\n"));
  CHECK_THAT(scene.run({"plan", "m.yaml"}).out,
             Contains("storage: 6 of 6 revisions were never listed and count as nothing; this asks "
                      "the hub for their sizes: quench fetch m.yaml --dry-run"));
  REQUIRE(scene.run({"fetch", "m.yaml", "--dry-run"}).code == 0);
  CHECK_FALSE(fs::exists(scene.cache()));
  const json plan =
      quench::test::data_of(scene.run({"plan", "m.yaml", "--json"}).out).at("storage");
  const uint64_t least = plan.at("least_bytes");
  CHECK(least >= 3 * scene.bytes);
  CHECK(least < 3 * scene.bytes + Scene::kSmall);
  CHECK(plan.at("peak_bytes") == least + scene.bytes);  // three members and the next one
  CHECK(plan.at("fetch_bytes") == least + 3 * scene.bytes);
  CHECK(plan.at("least_for") ==
        "lawa window=3 at step3, an average of 3 checkpoints that are read together");
  const std::string limit = std::to_string(least - 1);
  scene.here.folder().write(
      "m.yaml", manifest_of(kHub, kMore + "storage: {limit: " + limit + ", evict: done}\n"));
  const std::string wanted = "m.yaml:10:18: storage: limit = " + limit +
                             " bytes, wanted at least " + std::to_string(least) +
                             ": for lawa window=3 at step3, an average of 3 checkpoints that are "
                             "read together\n";
  for (const char* verb : {"plan", "run"}) {
    const Outcome got = verb == std::string("plan") ? scene.run({"plan", "m.yaml"})
                                                    : scene.run({"run", "m.yaml", "--fetch"});
    CAPTURE(verb, got.out);
    CHECK(got.code == 2);
    CHECK(got.err == wanted);
  }
  CHECK(scene.weights() == 0);
  const Outcome more = scene.run({"plan", "m.yaml", "--storage-limit", std::to_string(least)});
  CHECK(more.code == 0);
  CHECK_THAT(more.out, Contains("storage: at most"));
  const Outcome all = scene.run({"plan", "m.yaml", "--evict", "never"});
  CHECK(all.code == 2);
  CHECK_THAT(all.err, Contains("for all revisions; with `evict: done` weights go when no cell "
                               "needs them"));
}

TEST_CASE("storage: a hub that fails ends the run, which goes on where it was", "[cli]") {
  Scene scene;
  scene.server.start({"--fault", "status:step4/model:403"});
  scene.here.folder().write("m.yaml", manifest_of(kHub, "storage: {evict: done}\n"));
  const Outcome got = scene.run({"run", "m.yaml", "--fetch"});
  CAPTURE(got.out, got.err);
  CHECK(got.code == 1);
  CHECK(plan_counts(scene)["done"] == 3);
  scene.server.start();
  const Outcome again = scene.run({"run", "m.yaml", "--fetch"});
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("6 records, 3 of them new"));
  CHECK(scene.weights() == 0);
}

TEST_CASE("storage: two runs at once on one cache both end right", "[cli]") {
  Scene scene;
  scene.server.start({"--fault", "slow:safetensors:20000"});
  scene.here.folder().write("m.yaml", manifest_of(kHub, kMore + "storage: {evict: done}\n"));
  // One writes to the terminal's files, the other as JSON: only the exit codes matter.
  quench::ChildProcess first = quench::ChildProcess::start(
      scene.command({"run", "m.yaml", "--fetch", "--out", "runs/a"}, "home-a"));
  quench::ChildProcess second = quench::ChildProcess::start(
      scene.command({"run", "m.yaml", "--fetch", "--out", "runs/b"}, "home-b"));
  const Outcome one = scene.here.wait(first);
  const Outcome two = scene.here.wait(second);
  CAPTURE(one.err, two.err);
  CHECK(one.code == 0);
  CHECK(two.code == 0);
  CHECK(differences(values_of(scene.here.folder() / "runs/a"),
                    values_of(scene.here.folder() / "runs/b")) == "");
}

TEST_CASE("storage: what eval, quantize or average reads stays while a run evicts", "[cli]") {
  Scene scene;
  scene.server.start();
  scene.here.write_long_text();
  scene.here.folder().write("m.yaml",
                            manifest_of("{model: hf://org/tiny, revisions: [step1, step2]}"));
  REQUIRE(scene.run({"run", "m.yaml", "--fetch", "--evict", "never"}).code == 0);
  REQUIRE(scene.weights() == 2);
  const std::string loss = "validation_loss:text=long.txt,block=16";
  const std::vector<std::string> command = GENERATE_COPY(values<std::vector<std::string>>(
      {{"eval", "hf://org/tiny@step1", "--metric", loss},
       {"quantize", "hf://org/tiny@step1", "--quantizer", "template_quantizer:bits=3", "--format",
        "template_format", "-o", "quantized", "--metric", loss},
       {"average", "hf://org/tiny@step1", "tiny", "--scheme", "greedy_soup", "-o", "averaged",
        "--metric", loss}}));
  CAPTURE(command.front());
  quench::ChildProcess reader = quench::ChildProcess::start(scene.command(command));
  const auto claims = [&] {
    std::error_code none;
    const fs::directory_iterator found(scene.repository() / ".quench", none);
    return std::distance(begin(found), end(found));
  };
  while (claims() == 0 && !reader.ends_within(std::chrono::milliseconds(10))) {
  }
  REQUIRE_FALSE(reader.ends_within(std::chrono::milliseconds(0)));

  // Nothing is left to measure, so both revisions may go; the one that is read stays.
  REQUIRE(scene.run({"run", "m.yaml", "--fetch", "--evict", "done"}).code == 0);
  CHECK(scene.weights() == 1);
  const std::string commit = quench::test::read_file(scene.repository() / "refs/step1");
  CHECK(fs::exists(scene.repository() / "snapshots" / commit / "model.safetensors"));

  reader.end();
  REQUIRE(scene.run({"run", "m.yaml", "--fetch", "--evict", "done"}).code == 0);
  CHECK(scene.weights() == 0);
}

TEST_CASE("storage: a share fetches what it reads and no more", "[cli]") {
  Scene scene;
  scene.server.start();
  scene.here.folder().write("m.yaml",
                            manifest_of("{model: hf://org/tiny, revisions: \"step{step}\"}"));
  size_t there = 0;
  for (const char* share : {"1/3", "2/3", "3/3"}) {
    const Outcome got = scene.run({"run", "m.yaml", "--fetch", "--share", share});
    CAPTURE(share, got.err);
    REQUIRE(got.code == 0);
    CHECK_THAT(got.out, Contains("2 records, 2 of them new"));
    there += 2;
    CHECK(scene.weights() == there);
  }
  CHECK(plan_counts(scene) == json{{"done", 6}});
}

TEST_CASE("submit: with --fetch shares are sent whose weights only the hub has", "[cli][cluster]") {
  Scene scene;
  scene.server.start();
  scene.here.folder().write(
      "m.yaml", manifest_of("{model: hf://org/tiny, revisions: \"step{step}\"}", scene.limit(3)));
  const std::vector<std::string> submit = {"submit",   "m.yaml", "--to",     "slurm",
                                           "--shares", "3",      "--dry-run"};
  const Outcome without = scene.run(submit);
  CHECK(without.code == 2);  // the cache knows no revision
  std::vector<std::string> fetching = submit;
  fetching.insert(fetching.end(), {"--fetch", "--evict", "done"});
  const Outcome with = scene.run(fetching);
  CAPTURE(with.out, with.err);
  REQUIRE(with.code == 0);
  CHECK_THAT(with.out, Contains("#SBATCH --array=1-3\n"));
  CHECK_THAT(with.out, Contains(" --fetch --evict done --share \"$SLURM_ARRAY_TASK_ID/3\""));
  CHECK_THAT(with.out, Contains("export HF_ENDPOINT=" + scene.server.endpoint() + "\n"));
  CHECK_THAT(with.err, Contains("say `memory` and `time` under `cluster`"));
  CHECK(scene.weights() == 0);

  // What one share has evicted again is done all the same.
  REQUIRE(scene.run({"run", "m.yaml", "--fetch", "--share", "2/3"}).code == 0);
  CHECK(scene.weights() == 0);
  CHECK_THAT(scene.run(fetching).out, Contains("#SBATCH --array=1,3\n"));
}

TEST_CASE("storage: the trajectory of the fixtures gives what its folders give", "[cli]") {
  quench::test::need_plugin("models/gpt_neox");
  const fs::path from = quench::test::fixture("trajectories/gpt_neox-traj");
  Scene scene;
  uint64_t bytes = 0;
  for (const char* step : {"step840", "step960", "step1008", "step1056", "step1104"}) {
    for (const char* file : {"config.json", "tokenizer.json", "model.safetensors"}) {
      const std::string content = quench::test::read_file(from / step / file);
      bytes = std::max<uint64_t>(bytes, content.size());
      scene.server.add(std::string("models/org/traj/") + step + "/" + file, content);
    }
  }
  scene.server.start();
  const std::string revisions = ", revisions: \"step{step}\", match: {step: [840, 1104]}}";
  const std::string more = "averaging:\n  - lawa: {window: 2}\nquantizers:\n  - rtn: {bits: [3]}\n";
  scene.here.folder().write("local.yaml",
                            manifest_of("{model: " + from.string() + revisions, more));
  scene.here.folder().write(
      "m.yaml", manifest_of("{model: hf://org/traj" + revisions,
                            more + "storage: {limit: " + std::to_string(3 * bytes + 1'000'000) +
                                ", evict: done}\n"));
  const Outcome local = scene.run({"run", "local.yaml"}, "home-of-local");
  CAPTURE(local.err);
  REQUIRE(local.code == 0);
  const Outcome hub = scene.run({"run", "m.yaml", "--fetch", "--out", "runs/hub"});
  CAPTURE(hub.err);
  REQUIRE(hub.code == 0);
  const std::string values = values_of(scene.here.folder() / "runs/hub");
  CHECK(lines_of(values) == 2 * (5 + 4));
  CHECK(differences(values, values_of(scene.here.folder() / "runs/m")) == "");
}
