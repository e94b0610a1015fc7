// quench clean on checkpoints that trainings left, as folders that a test made.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/store/sealed_line.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::test::TemporaryDir;

namespace {

// A home whose training/ has: `linked`, which runs/r links to, and `before`, which it came from;
// `free`; each with a state of 300 bytes, 1000 bytes of weights and a note, written `days` ago.
class TrainedPlace {
 public:
  explicit TrainedPlace(int days = 2) {
    add("before", "", days);
    add("linked", "before", days);
    add("free", "before", days);
    fs::create_directories(path() / "runs/r/checkpoints/trunk");
    fs::create_directory_symlink(training() / "linked", path() / "runs/r/checkpoints/trunk/step4");
  }

  void add(const std::string& key, const std::string& previous, int days) const {
    const fs::path weights = training() / key;
    const fs::path state = training() / (key + ".optimizer");
    fs::create_directories(weights);
    fs::create_directories(state);
    std::ofstream(weights / "model.safetensors") << std::string(1000, 'w');
    std::ofstream(weights / "training.json")
        << quench::seal("training", json{{"previous", previous}}.dump());
    std::ofstream(state / "state.safetensors") << std::string(300, 's');
    age(weights, days);
    age(state, days);
  }
  static void age(const fs::path& path, int days) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  }
  quench::test::Ended run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {(quench::test::binary_dir() / "bin/quench").string(), "clean"});
    return quench::test::run_program(arguments, {{"QUENCH_HOME", (path() / "home").string()}},
                                     path());
  }
  json told(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const auto ended = run(arguments);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return quench::test::data_of(ended.out).at("training");
  }
  std::set<std::string> left() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(training())) {
      out.insert(entry.path().filename());
    }
    return out;
  }
  fs::path training() const { return path() / "home/training"; }
  const fs::path& path() const { return folder_.path(); }

 private:
  TemporaryDir folder_;
};

const std::set<std::string> kAll = {"before",         "before.optimizer", "free",
                                    "free.optimizer", "linked",           "linked.optimizer"};

}  // namespace

TEST_CASE("clean: tells what was trained, and leaves it", "[cli]") {
  const TrainedPlace place;
  const json told = place.told({});
  CHECK(told.at("checkpoints").at("count") == 3);
  CHECK(told.at("checkpoints").at("bytes") > 3000);
  CHECK(told.at("checkpoints").at("used") == 2);
  CHECK(told.at("optimizer_states").at("bytes") == 900);
  CHECK(told.at("optimizer_states").at("removed") == 0);
  place.told({"--older", "1d"});
  place.told({"--max", "0K"});
  CHECK(place.left() == kAll);
  CHECK_THAT(place.run({}).out,
             Catch::Contains("\ntraining: 3 checkpoints, 0.0 MB, 2 used by runs; 3 optimizer "
                             "states, 0.0 MB, 2 of these\n"));
}

TEST_CASE("clean: checkpoints that no run uses go when asked for, what a run's came from stays",
          "[cli]") {
  const TrainedPlace place;
  CHECK(place.told({"--training", "--dry-run"}).at("checkpoints").at("removed") == 1);
  CHECK(place.left() == kAll);
  const json told = place.told({"--training"});
  CHECK(told.at("checkpoints").at("removed") == 1);
  CHECK(told.at("optimizer_states").at("removed") == 1);
  CHECK(place.left() ==
        std::set<std::string>{"before", "before.optimizer", "linked", "linked.optimizer"});
}

TEST_CASE("clean: states of optimizers go by themselves", "[cli]") {
  const TrainedPlace place;
  CHECK(place.told({"--optimizer-states"}).at("optimizer_states").at("removed") == 3);
  CHECK(place.left() == std::set<std::string>{"before", "free", "linked"});
}

TEST_CASE("clean: a training at work keeps what it came from", "[cli]") {
  const TrainedPlace place;
  CHECK(place.told({"--training", "--older", "4d"}).at("checkpoints").at("removed") == 0);
  place.add("first", "", 3);
  place.add("now", "first", 0);
  place.told({"--training", "--optimizer-states", "--older", "0h"});
  CHECK(place.left() == std::set<std::string>{"before", "first", "first.optimizer", "linked", "now",
                                              "now.optimizer"});
}

TEST_CASE("clean: whose checkpoints stay can be said, and has to be known", "[cli]") {
  const TrainedPlace place;
  fs::rename(place.path() / "runs", place.path() / "elsewhere");
  const auto ended = place.run({"--training"});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("there is no folder runs here"));
  CHECK(place.run({"--training", "--runs", "nowhere"}).code == 2);
  CHECK(place.left() == kAll);
  for (const char* runs : {"elsewhere", "elsewhere/r"}) {
    CHECK(place.told({"--training", "--dry-run", "--runs", runs}).at("checkpoints").at("used") ==
          2);
  }
}

TEST_CASE("clean: half-written folders of trainings go after a day", "[cli]") {
  const TrainedPlace place;
  // Of processes on another machine, which only their silence can tell to be gone.
  const std::string old = ".a.00000000-1-1-00000001.partial";
  const std::string young = ".b.00000000-1-1-00000002.partial";
  for (const std::string& name : {old, young}) {
    fs::create_directories(place.training() / name);
  }
  TrainedPlace::age(place.training() / old, 2);
  CHECK(place.told({"--older", "0h"}).at("leftovers") == 1);
  CHECK(place.left().contains(young));
  CHECK(place.left().size() == kAll.size() + 1);
}
