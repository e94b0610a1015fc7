#include "core/pass/pass_clock.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

TEST_CASE("pass clock: what no part has of the whole is other", "[core][run]") {
  using namespace std::chrono_literals;
  quench::PassClock clock;
  clock.start();
  clock.timed("forward", [] { std::this_thread::sleep_for(20ms); });
  clock.timed("forward", [] { std::this_thread::sleep_for(20ms); });
  clock.timed("quantize", [] { std::this_thread::sleep_for(5ms); });
  clock.add_detail("factor", 3);  // a part of "quantize", whatever the quantizer says
  std::this_thread::sleep_for(30ms);
  clock.stop();
  const auto& seconds = clock.seconds();
  CHECK(seconds.at("forward") >= 0.04);
  CHECK(seconds.at("quantize") >= 0.005);
  CHECK(seconds.at("factor") == 3);
  CHECK(seconds.at("other") >= 0.03);
  CHECK(seconds.at("all") ==
        Approx(seconds.at("forward") + seconds.at("quantize") + seconds.at("other")));
  CHECK(seconds.at("observe") == 0);                         // named in every record
  CHECK(clock.cpu_seconds().at("all") < seconds.at("all"));  // it slept
}
