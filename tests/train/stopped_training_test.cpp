// A training that was stopped goes on where it was, averages and all, and nothing of the result
// tells that it was stopped.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/library/running_code.hpp"
#include "tests/support/temporary.hpp"
#include "tests/train/small_training.hpp"
#include "train/trained_states.hpp"

namespace fs = std::filesystem;
using quench::test::SmallSettings;
using quench::test::SmallTraining;
using quench::test::TemporaryDir;

namespace {

struct Undisturbed {
  explicit Undisturbed(const SmallSettings& settings) {
    const TemporaryDir home;
    SmallTraining training(home / "h", settings);
    REQUIRE(training.run());
    outputs = training.outputs();
    logs = training.logs();
  }
  void check(const SmallTraining& training) const {
    const auto got = training.outputs();
    REQUIRE(got.size() == outputs.size());
    for (const auto& [name, bytes] : outputs) {
      INFO(name);
      CHECK((got.at(name) == bytes));
    }
    CHECK(training.logs() == logs);
  }
  std::map<std::string, std::string> outputs;
  nlohmann::json logs;
};

size_t folders_with(const fs::path& folder, const std::string& ending) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().ends_with(ending) ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("stopped training: after any step it goes on there, with the same bits", "[train]") {
  SmallSettings settings;
  settings.optimizer = GENERATE("adamw", "schedule_free_adamw");
  const Undisturbed undisturbed(settings);
  for (int64_t stop = 1; stop < SmallTraining::kSteps; ++stop) {
    INFO(settings.optimizer << ", stopped after step " << stop);
    const TemporaryDir home;
    SmallTraining training(home / "h", settings);
    CHECK_FALSE(training.run(stop));
    CHECK(training.run());
    if (stop < 12) {
      CHECK(training.has_said("training of trunk: continuing from step " + std::to_string(stop) +
                              " of 12"));
    } else if (stop > 12) {
      CHECK(training.has_said("training of fork: continuing from step " + std::to_string(stop - 6) +
                              " of 10"));
    }
    CHECK_FALSE(training.has_said("cannot be used"));
    undisturbed.check(training);
    CHECK(folders_with(training.training(), ".sums") == 0);
    CHECK(folders_with(training.training(), ".optimizer") == 3);  // the fork's begin, both ends
  }
}

TEST_CASE("stopped training: stopped after every step it ends with the same bits", "[train]") {
  const Undisturbed undisturbed({});
  const TemporaryDir home;
  SmallTraining training(home / "h", {});
  int64_t stops = 0;
  while (!training.run(1)) {
    REQUIRE(++stops <= SmallTraining::kSteps);
  }
  undisturbed.check(training);
}

TEST_CASE("stopped training: stopped at random times, validation losses are not lost", "[train]") {
  SmallSettings settings;
  settings.validates = true;
  const Undisturbed undisturbed(settings);
  REQUIRE(undisturbed.logs[3].at("validation_loss").get<double>() > 0);
  std::mt19937 random(5);
  for (int round = 0; round < 6; ++round) {
    const TemporaryDir home;
    SmallTraining training(home / "h", settings);
    for (int i = 0; i < 12; ++i) {
      training.run_for(0.005 + static_cast<double>(random() % 60) / 1000);
    }
    CHECK(training.run());
    undisturbed.check(training);
  }
}

TEST_CASE("stopped training: an average without sums is made from the state before it", "[train]") {
  SmallSettings settings;
  settings.averages = "template";
  settings.forks = false;
  const Undisturbed undisturbed(settings);
  for (const int64_t stop : {5, 7, 8, 9, 11}) {
    INFO("stopped after step " << stop);
    const TemporaryDir home;
    SmallTraining training(home / "h", settings);
    CHECK_FALSE(training.run(stop));
    CHECK(training.run());
    if (stop <= 8) {
      CHECK(training.has_said("continuing from step " + std::to_string(stop) + " of 12"));
    } else {
      CHECK(training.has_said(
          "training of trunk: continuing from step 6 of 12; the state at step " +
          std::to_string(stop) +
          " cannot be used: the average template_averaging at step 12 began at step "
          "8, and its sums do "
          "not exist"));
    }
    undisturbed.check(training);
    CHECK(folders_with(training.training(), ".optimizer") == 1);
  }
}

TEST_CASE("stopped training: states at every step leave the same as one at the end", "[train]") {
  SmallSettings settings;
  settings.averages = GENERATE("shipped", "template");
  const Undisturbed undisturbed(settings);
  settings.state_seconds = 0;
  const TemporaryDir home;
  SmallTraining training(home / "h", settings);
  CHECK(training.run());
  undisturbed.check(training);
  CHECK(folders_with(training.training(), ".sums") == 0);
  CHECK(folders_with(training.training(), ".optimizer") == 3);
}

TEST_CASE("stopped training: code that is written in place leaves no state", "[train]") {
  SmallSettings settings;
  settings.forks = false;
  const Undisturbed undisturbed(settings);
  const TemporaryDir home;
  SmallTraining training(home / "h", settings);
  CHECK_FALSE(training.run(1));
  const fs::path library = home.write("optimizer.so", "the code");
  quench::note_running_code("optimizer adamw", quench::File(library),
                            quench::sha256_hex("the code"));
  std::ofstream(library) << "other code";
  const auto states = [&] { return folders_with(training.training(), ""); };
  const size_t before = states();
  CHECK_THROWS_WITH(training.run(), Catch::Contains("was written in place while its code ran"));
  CHECK(states() == before);
  fs::remove(library);
  CHECK(training.run());
  undisturbed.check(training);
}
