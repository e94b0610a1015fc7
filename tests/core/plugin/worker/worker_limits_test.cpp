#include "core/plugin/worker/worker_limits.hpp"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <thread>

#include "core/plugin/process/control_socket.hpp"
#include "tests/support/temporary.hpp"

using quench::RoomWatch;
using quench::SilenceClock;
using quench::WorkerProcess;
using Clock = std::chrono::steady_clock;

namespace {

Clock::time_point at(double seconds) {
  return Clock::time_point() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("silence clock: a worker that says nothing is silent for too long at its limit",
          "[apart]") {
  SilenceClock clock(10);
  CHECK(clock.exceeded(at(100), at(109.5)).empty());
  CHECK(clock.exceeded(at(100), at(110)) == "gave no sign for 10 s");
  clock.hear(false, at(110));
  CHECK(clock.exceeded(at(100), at(119)).empty());
  CHECK(clock.exceeded(at(115), at(124)).empty());  // a call that was sent later
  CHECK(clock.exceeded(at(100), at(120)) == "gave no sign for 10 s");
}

TEST_CASE("silence clock: the host's own time does not count", "[apart]") {
  SilenceClock clock(10);
  clock.pause(false, at(0));
  CHECK(clock.exceeded(at(0), at(1000)).empty());
  clock.pause(true, at(1000));
  clock.resume(true, at(2000));
  CHECK(clock.exceeded(at(0), at(3000)).empty());  // the outer call is still served
  clock.resume(false, at(3000));
  CHECK(clock.exceeded(at(0), at(3009)).empty());
  CHECK(clock.exceeded(at(0), at(3010)) == "gave no sign for 10 s");
}

TEST_CASE("silence clock: log lines alone are a sign for ten silences in a row", "[apart]") {
  SilenceClock clock(10);
  const auto log_until = [&](int from, int to) {
    for (int second = from; second < to; ++second) {
      clock.pause(true, at(second));
      clock.resume(true, at(second));
      REQUIRE(clock.exceeded(at(0), at(second)).empty());
    }
  };
  log_until(1, 100);
  CHECK(clock.exceeded(at(0), at(100)) == "gave no sign but log lines for 100 s");
  clock.hear(false, at(100));
  log_until(101, 200);
  CHECK(clock.exceeded(at(0), at(200)) == "gave no sign but log lines for 100 s");
}

TEST_CASE("silence clock: without a limit nothing is too long", "[apart]") {
  const SilenceClock clock(0);
  CHECK(clock.exceeded(at(0), at(1e6)).empty());
}

TEST_CASE("room watch: a worker that holds more than its limit is found, once a second",
          "[apart]") {
  const quench::test::TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  quench::WorkerLimits limits;
  limits.memory_bytes = uint64_t{96} << 20;
  RoomWatch watch(worker, "", limits);
  CHECK(watch.exceeded(at(0)).empty());
  quench::send_packet(worker.control(), "hold " + std::to_string(128 << 20));
  REQUIRE(quench::receive_packet(worker.control(), 60000));
  CHECK(watch.exceeded(at(0.9)).empty());
  const std::string found = watch.exceeded(at(1));
  CHECK_THAT(found, Catch::Matches("held 1[0-9]+ MiB of memory, more than the 96 MiB that it may"));
  worker.kill_now();
  worker.end();
  CHECK(watch.exceeded(at(2)) == found);  // remembered
  limits.memory_bytes = 1;
  RoomWatch late(worker, "", limits);
  CHECK(late.exceeded(at(0)).empty());
  limits.memory_bytes = 0;
  RoomWatch without_limit(worker, "", limits);
  CHECK(without_limit.exceeded(at(0)).empty());
}

TEST_CASE("room watch: a worker that fills its folder is found", "[apart]") {
  const quench::test::TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  quench::WorkerLimits limits;
  limits.scratch_bytes = 3 << 20;
  RoomWatch watch(worker, folder.path(), limits);
  folder.write("one", std::string(2 << 20, 'x'));
  std::filesystem::resize_file(folder.path() / "one", 1 << 30);  // what is not written takes none
  CHECK(watch.exceeded(at(0)).empty());
  folder.write("deep/two", std::string(2 << 20, 'x'));
  CHECK(watch.exceeded(at(1)) == "wrote 4 MiB into its folder, more than the 3 MiB that it may");
  limits.scratch_bytes = 0;
  CHECK(RoomWatch(worker, folder.path(), limits).exceeded(at(0)).empty());
}
