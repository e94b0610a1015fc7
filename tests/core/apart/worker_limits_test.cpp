#include "core/apart/worker_limits.hpp"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <thread>

#include "core/apart/control_socket.hpp"
#include "tests/support/temporary.hpp"

using quench::MemoryWatch;
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
  SilenceClock clock(10, at(100));
  CHECK_FALSE(clock.exceeded(at(109.5)));
  CHECK(clock.milliseconds_left(60000, at(109.5)) == 500);
  CHECK(clock.milliseconds_left(200, at(100)) == 200);
  CHECK(clock.exceeded(at(110)));
  CHECK(clock.milliseconds_left(60000, at(111)) == 0);
  clock.restart(at(110));
  CHECK_FALSE(clock.exceeded(at(119)));
}

TEST_CASE("silence clock: the host's own time does not count", "[apart]") {
  SilenceClock clock(10, at(0));
  clock.pause();
  CHECK_FALSE(clock.exceeded(at(1000)));
  CHECK(clock.milliseconds_left(200, at(1000)) == 200);
  clock.pause();
  clock.resume(at(2000));
  CHECK_FALSE(clock.exceeded(at(3000)));  // the outer call is still served
  clock.resume(at(3000));
  CHECK_FALSE(clock.exceeded(at(3009)));
  CHECK(clock.exceeded(at(3010)));
}

TEST_CASE("silence clock: without a limit nothing is too long", "[apart]") {
  const SilenceClock clock(0, at(0));
  CHECK_FALSE(clock.exceeded(at(1e6)));
  CHECK(clock.milliseconds_left(200, at(1e6)) == 200);
}

TEST_CASE("memory watch: a worker that holds more than its limit is found, once a second",
          "[apart]") {
  const quench::test::TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  MemoryWatch watch(worker, uint64_t{96} << 20);
  CHECK_FALSE(watch.exceeded(at(0)));
  quench::send_packet(worker.control(), "hold " + std::to_string(128 << 20));
  REQUIRE(quench::receive_packet(worker.control(), 60000));
  CHECK_FALSE(watch.exceeded(at(0.9)));
  CHECK(watch.exceeded(at(1)).value_or(0) > uint64_t{128} << 20);
  worker.kill_now();
  worker.end();
  CHECK(watch.exceeded(at(2)).value_or(0) > uint64_t{128} << 20);  // remembered
  MemoryWatch late(worker, 1);
  CHECK_FALSE(late.exceeded(at(0)));
  MemoryWatch without_limit(worker, 0);
  CHECK_FALSE(without_limit.exceeded(at(0)));
}
