#include "tests/core/plugin/wire/garbage.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

using quench::test::recorded_sessions;
using quench::test::take_garbage;
using quench::test::with_changes;

namespace {

void take(const std::string& input) {
  take_garbage({reinterpret_cast<const uint8_t*>(input.data()), input.size()});
}

}  // namespace

TEST_CASE("wire garbage: recorded messages are taken, of calls and of replies", "[wire]") {
  const std::vector<std::string> sessions = recorded_sessions();
  std::set<bool> kinds;
  for (const std::string& session : sessions) {
    REQUIRE(session.size() > 8);
    kinds.insert(static_cast<uint8_t>(session[0]) < 128);
    take(session);
  }
  CHECK(kinds.size() == 2);
}

TEST_CASE("wire garbage: messages with changes end with a status or an error", "[wire][bad]") {
  const std::vector<std::string> sessions = recorded_sessions();
  std::mt19937_64 random(20'000);
  int taken = 0;
  for (; taken < 20'000; ++taken) {
    take(with_changes(sessions[random() % sessions.size()], random));
  }
  CHECK(taken == 20'000);
}
