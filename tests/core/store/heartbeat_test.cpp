#include "core/store/heartbeat.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json/canonical_json.hpp"
#include "core/base/process/child_process.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::Heartbeat;
using quench::HeartbeatState;
using quench::HeartbeatWatcher;
using quench::Pulse;
using quench::read_heartbeats;
using quench::test::TemporaryDir;

namespace {

HeartbeatState only(const fs::path& folder) {
  const auto states = read_heartbeats(folder);
  REQUIRE(states.size() == 1);
  return states[0];
}

}  // namespace

TEST_CASE("heartbeat: tells what is done and that it runs", "[store]") {
  const TemporaryDir folder;
  HeartbeatWatcher watcher;
  {
    Heartbeat heart(folder.path(), "3", "0001-00000000", 10, 4);
    const HeartbeatState first = only(folder.path());
    CHECK(first.state == "running");
    CHECK(first.done == 4);
    CHECK(first.total == 10);
    CHECK_FALSE(first.rate);
    CHECK(first.process.pid == getpid());
    CHECK(watcher.liveness(first) == Pulse::kRunning);
    heart.cell("step600, q4", 6, 1);
    const HeartbeatState second = only(folder.path());
    CHECK(second.cell == "step600, q4");
    CHECK(second.done == 6);
    CHECK(second.failed == 1);
    CHECK(second.sequence > first.sequence);
    // Three cells since the start, three to come.
    REQUIRE(second.eta_seconds);
    CHECK(*second.eta_seconds == Approx(second.elapsed_seconds));
    heart.finish(9, 1);
  }
  const HeartbeatState last = only(folder.path());
  CHECK(last.state == "finished");
  CHECK(*last.eta_seconds == 0);
  CHECK(watcher.liveness(last) == Pulse::kFinished);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("heartbeat: one that was not finished is stopped", "[store]") {
  const TemporaryDir folder;
  { Heartbeat heart(folder.path(), "0", "0001-00000000", 10); }
  CHECK(HeartbeatWatcher().liveness(only(folder.path())) == Pulse::kStopped);
}

TEST_CASE("heartbeat: one that no reader takes is not written", "[store]") {
  const TemporaryDir folder;
  CHECK_THROWS_WITH(Heartbeat(folder.path(), "../3", "0001-00000000", 10),
                    Catch::Contains("../3 is no name of a file"));
  CHECK(fs::is_empty(folder.path()));
  Heartbeat heart(folder.path(), "3", "0001-00000000", 10);
  heart.estimate_by([] { return std::numeric_limits<double>::infinity(); });
  heart.cell("step600", 1, 0);
  const HeartbeatState state = only(folder.path());
  CHECK(state.done == 1);
  CHECK_FALSE(state.eta_seconds);
}

TEST_CASE("heartbeat: one of no known state is no sign of life", "[store]") {
  const TemporaryDir folder;
  const fs::path file = folder / "status-0-0001-00000000.json";
  { Heartbeat heart(folder.path(), "0", "0001-00000000", 10); }
  auto body = nlohmann::json::parse(quench::test::read_file(file)).at("status");
  const auto states_with = [&](const char* name, const nlohmann::json& value) {
    nlohmann::json other = body;
    other[name] = value;
    std::ofstream(file) << quench::seal("status", quench::canonical_json(other)) << "\n";
    return read_heartbeats(folder.path()).size();
  };
  CHECK(states_with("state", "stopped") == 1);
  CHECK(states_with("state", "asleep") == 0);
  CHECK(states_with("attempt", "../0001-00000000") == 0);
  CHECK(states_with("done", "many") == 0);
}

TEST_CASE("heartbeat: beats without being told", "[store]") {
  const TemporaryDir folder;
  Heartbeat heart(folder.path(), "0", "0001-00000000", 10, 0, std::chrono::milliseconds(2));
  const uint64_t first = only(folder.path()).sequence;
  for (int i = 0; i < 5000 && only(folder.path()).sequence < first + 3; ++i) {
    usleep(1000);
  }
  CHECK(only(folder.path()).sequence >= first + 3);
}

TEST_CASE("heartbeat: a killed process is dead, and so is a reused pid", "[store]") {
  const TemporaryDir folder;
  quench::ChildProcess::start_copy([&] {
    Heartbeat heart(folder.path(), "0", "0001-00000000", 10);
    return std::raise(SIGKILL);
  }).wait();
  HeartbeatState state = only(folder.path());
  CHECK(state.state == "running");
  CHECK(HeartbeatWatcher().liveness(state) == Pulse::kDead);
  state.process.pid = getpid();
  state.process.start += 1000;  // or both may have begun in one tick of the clock
  CHECK(HeartbeatWatcher().liveness(state) == Pulse::kDead);
}

TEST_CASE("heartbeat: one of another host lives while its sequence grows", "[store]") {
  using std::chrono::seconds;
  HeartbeatState state;
  state.state = "running";
  state.host = "a host of another name";
  state.sequence = 5;
  HeartbeatWatcher watcher;
  const HeartbeatWatcher::Clock::time_point start{};
  CHECK(watcher.liveness(state, start) == Pulse::kElsewhere);
  CHECK(watcher.liveness(state, start + seconds(60)) == Pulse::kElsewhere);
  CHECK(watcher.liveness(state, start + seconds(61)) == Pulse::kDead);
  state.sequence = 6;
  CHECK(watcher.liveness(state, start + seconds(62)) == Pulse::kRunning);
  CHECK(watcher.liveness(state, start + seconds(122)) == Pulse::kRunning);
  CHECK(watcher.liveness(state, start + seconds(123)) == Pulse::kDead);
}

TEST_CASE("heartbeat: a folder that takes no file ends nothing", "[store]") {
  const TemporaryDir folder;
  Heartbeat heart(folder / "absent", "0", "0001-00000000", 10);
  heart.cell("x", 1, 0);
  heart.finish(1, 0);
  CHECK(read_heartbeats(folder / "absent").empty());
}

TEST_CASE("heartbeat: what does not verify is no sign of life", "[store]") {
  const TemporaryDir folder;
  folder.write("status-0-0001-00000000.json", "{\"status\":{\"process\":1");
  CHECK(read_heartbeats(folder.path()).empty());
}
