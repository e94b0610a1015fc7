// A training that is killed, with a state at every step: whatever was being written, the next one
// goes on and ends with the bits of the undisturbed one; so do two at once.
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/support/faults.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"
#include "tests/train/small_training.hpp"
#include "train/verify_trained.hpp"

namespace fs = std::filesystem;
using quench::test::FaultPlan;
using quench::test::SmallTraining;
using quench::test::TemporaryDir;

namespace {

std::vector<std::string> command(const fs::path& home) {
  return {(quench::test::binary_dir() / "tests/training_driver").string(), home.string(), "0"};
}

quench::ChildProcess start(const fs::path& home) {
  return quench::test::start_silently(command(home), {}, home.parent_path());
}

void check_end(const fs::path& home, const std::map<std::string, std::string>& expected) {
  CHECK(start(home).wait().code() == 0);
  const SmallTraining training(home, {});
  CHECK((training.outputs() == expected));
  CHECK(quench::verify_trained(home, quench::Depth::kContents).faults.empty());
}

std::map<std::string, std::string> undisturbed(const fs::path& home) {
  REQUIRE(start(home).wait().code() == 0);
  return SmallTraining(home, {}).outputs();
}

}  // namespace

TEST_CASE("killed training: at a call that writes a state, it goes on with the same bits",
          "[train]") {
  const TemporaryDir place;
  const auto expected = undisturbed(place / "whole");
  FaultPlan none;
  none.under = (place / "counted/training").string();
  const size_t calls =
      quench::test::run_under_faults(command(place / "counted"), none, {}, place.path())
          .calls.size();
  REQUIRE(calls > 500);
  const char* wanted = std::getenv("QUENCH_TRAINING_KILLS");
  const size_t kills = wanted != nullptr ? static_cast<size_t>(std::atol(wanted)) : 24;
  for (size_t i = 0; i < kills; ++i) {
    const TemporaryDir here;
    FaultPlan plan;
    plan.under = (here / "h/training").string();
    plan.at = static_cast<long>(1 + i * (calls - 1) / kills);
    plan.fault = "KILL";
    const auto killed = quench::test::run_under_faults(command(here / "h"), plan, {}, here.path());
    INFO("call " << plan.at << " of " << calls);
    CHECK(killed.ended.code == 128 + SIGKILL);
    check_end(here / "h", expected);
  }
}

TEST_CASE("killed training: again and again at random, by two at once, it ends the same",
          "[train]") {
  const TemporaryDir place;
  const auto expected = undisturbed(place / "whole");
  std::mt19937 random(3);
  for (int round = 0; round < 3; ++round) {
    const TemporaryDir here;
    for (int i = 0; i < 5; ++i) {
      quench::ChildProcess one = start(here / "h");
      quench::ChildProcess two = start(here / "h");
      std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 900));
      one.signal(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
      two.signal(SIGKILL);
      one.wait();
      two.wait();
    }
    check_end(here / "h", expected);
  }
}

TEST_CASE("killed training: two at once both come to the end", "[train]") {
  const TemporaryDir place;
  const auto expected = undisturbed(place / "whole");
  for (int round = 0; round < 4; ++round) {
    const TemporaryDir here;
    quench::ChildProcess one = start(here / "h");
    quench::ChildProcess two = start(here / "h");
    CHECK(one.wait().code() == 0);
    CHECK(two.wait().code() == 0);
    check_end(here / "h", expected);
  }
}
