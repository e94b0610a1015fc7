#include <catch2/catch.hpp>

#include "run/grid/expected_run.hpp"

using quench::RunEta;

namespace {

const RunEta::Clock::time_point kStart;

RunEta::Clock::time_point at(double seconds) {
  return kStart + std::chrono::duration_cast<RunEta::Clock::duration>(
                      std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("run eta: what was measured before is expected from the start", "[core][cli]") {
  const RunEta eta({{60, 30}, false}, {{1, 2, 3}, false}, at(0));
  CHECK(eta.left(at(0)) == Approx(96));
  CHECK(eta.left(at(10)) == Approx(86));  // under way
}

TEST_CASE("run eta: training and cells count, each at its own pace", "[core][cli]") {
  RunEta eta({{60, 30}, false}, {{2, 2}, false}, at(0));
  // Half of the first segment took twice as long as expected: (60 + 9) / (30 + 9) a second.
  eta.trained(50, 100, at(60));
  CHECK(eta.left(at(60)) == Approx(60 * 69.0 / 39 + 4));
  eta.trained(100, 100, at(120));
  eta.trained(10, 100, at(126));  // the next segment: 3 of its 30 s
  CHECK(eta.left(at(126)) == Approx(27 * 135.0 / 72 + 4));
  eta.trained(100, 100, at(180));
  CHECK(eta.left(at(180)) == Approx(4));
  eta.measured(1, at(186));  // 6 s instead of 2: (6 + 0.4) / (2 + 0.4)
  CHECK(eta.left(at(186)) == Approx(2 * 6.4 / 2.4));
  eta.measured(2, at(190));
  CHECK(eta.left(at(190)) == 0);
}

TEST_CASE("run eta: a run takes its start, too, and one without work is not estimated",
          "[core][cli]") {
  CHECK(quench::ExpectedRun{{{60, 30}, false}, {{1, 2}, false}}.seconds() ==
        93 + quench::kStartSeconds);
  CHECK_FALSE(quench::ExpectedRun{{{}, true}, {{0, 0}, false}}.seconds());
  CHECK_FALSE(quench::ExpectedRun{{{60}, true}, {{1}, false}}.seconds());
}

TEST_CASE("run eta: a guess is none until some of the work is done", "[core][cli]") {
  RunEta eta({{4000}, true}, {{1, 1, 1, 1}, true}, at(0));
  CHECK_FALSE(eta.left(at(1)));
  eta.trained(500, 1000, at(100));
  CHECK_FALSE(eta.left(at(100)));  // of the cells nothing is known
  eta.trained(1000, 1000, at(200));
  eta.measured(1, at(210));
  CHECK(eta.left(at(210)) == Approx(30));
}

TEST_CASE("run eta: cells that were done before take no time", "[core][cli]") {
  RunEta eta({}, {{0, 0, 5, 5}, false}, at(0));
  CHECK(eta.left(at(0)) == Approx(10));
  eta.measured(2, at(0.5));  // seen, not computed
  CHECK(eta.left(at(0.5)) == Approx(10));
  CHECK(RunEta({}, {}, at(0)).left(at(3)) == 0);
}
