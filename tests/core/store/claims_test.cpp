#include "core/store/claims.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "core/base/json/canonical_json.hpp"
#include "core/store/heartbeat.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::Claim;
using quench::Claims;
using quench::Heartbeat;
using quench::test::TemporaryDir;

namespace {

constexpr std::chrono::seconds kLease{60};

Claims claims_of(const fs::path& run, const std::string& attempt, Claims::Log log = {}) {
  return Claims(run, "0", attempt, kLease, std::move(log));
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("claims: of two attempts one has the work until it lets go", "[store]") {
  const TemporaryDir run;
  Heartbeat heart(run.path(), "0", "0001-aaaaaaaa", 1);
  Claims first = claims_of(run.path(), "0001-aaaaaaaa");
  Claims second = claims_of(run.path(), "0002-bbbbbbbb");
  CHECK_FALSE(second.is_taken("step1"));
  {
    const auto claim = first.take("step1");
    REQUIRE(claim);
    CHECK(claim->held());
    CHECK(claim->earlier().empty());
    CHECK(second.is_taken("step1"));
    CHECK_FALSE(second.take("step1"));
    CHECK(second.take("step2"));
  }
  const auto claim = second.take("step1");
  REQUIRE(claim);
  REQUIRE(claim->earlier().size() == 1);
  CHECK(claim->earlier().front().attempt == "0001-aaaaaaaa");
}

TEST_CASE("claims: one whose names are paths is not made, and belongs to no attempt", "[store]") {
  const TemporaryDir run;
  Claims wrong = claims_of(run.path(), "../../0001-aaaaaaaa");
  CHECK_THROWS_WITH(wrong.take("step1"), Catch::Contains("wanted the names of a file"));
  Claims first = claims_of(run.path(), "0001-aaaaaaaa");
  first.take("step1").reset();
  for (const auto& entry : fs::recursive_directory_iterator(run.path())) {
    if (entry.path().extension() == ".claim") {
      auto body = nlohmann::json::parse(quench::test::read_file(entry.path())).at("claim");
      body["attempt"] = "../../0001-aaaaaaaa";
      std::ofstream(entry.path()) << quench::seal("claim", quench::canonical_json(body)) << "\n";
    }
  }
  Claims second = claims_of(run.path(), "0002-bbbbbbbb");
  const auto claim = second.take("step1");
  REQUIRE(claim);
  REQUIRE(claim->earlier().size() == 1);
  CHECK(claim->earlier().front().attempt.empty());
}

TEST_CASE("claims: of many threads that try at once one gets each", "[store]") {
  const TemporaryDir run;
  Heartbeat heart(run.path(), "0", "0001-aaaaaaaa", 1);
  constexpr size_t kThreads = 8;
  constexpr size_t kWorks = 20;
  std::vector<std::vector<Claim>> got(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Claims claims = claims_of(run.path(), "0001-aaaaaaaa");
      for (size_t work = 0; work < kWorks; ++work) {
        if (auto claim = claims.take("step" + std::to_string(work))) {
          got[i].push_back(std::move(*claim));
        }
      }
    });
  }
  size_t all = 0;
  for (size_t i = 0; i < kThreads; ++i) {
    threads[i].join();
    all += got[i].size();
  }
  CHECK(all == kWorks);
}

TEST_CASE("claims: an owner that has ended without letting go is replaced at once", "[store]") {
  const TemporaryDir run;
  Claims first = claims_of(run.path(), "0001-aaaaaaaa");
  std::string said;
  Claims second =
      claims_of(run.path(), "0002-bbbbbbbb", [&](const std::string& line) { said += line; });
  std::optional<Heartbeat> heart(std::in_place, run.path(), "0", "0001-aaaaaaaa", 1);
  const auto old = first.take("step1");
  CHECK_FALSE(second.take("step1"));
  heart.reset();  // its status now says that it has stopped
  const auto now = second.take("step1");
  CHECK(now);
  CHECK_FALSE(old->held());
  CHECK(now->held());
  CHECK_THAT(said, Catch::Contains("step1: taken over from attempt 0001-aaaaaaaa") &&
                       Catch::Contains("it has ended"));
}

TEST_CASE("claims: a silent owner is replaced when its lease is over, and notices", "[store]") {
  const TemporaryDir run;
  // Its status is written once and never again, as that of a process that is stopped.
  Heartbeat heart(run.path(), "0", "0001-aaaaaaaa", 1, 0, std::chrono::hours(1));
  Claims first = claims_of(run.path(), "0001-aaaaaaaa");
  Claims second = claims_of(run.path(), "0002-bbbbbbbb");
  Heartbeat other(run.path(), "0", "0002-bbbbbbbb", 1);
  const auto start = Claims::Clock::now();
  std::optional<Claim> old = first.take("step1");
  CHECK_FALSE(second.take("step1", start));
  CHECK_FALSE(second.take("step1", start + kLease));
  heart.cell("step1", 0, 0);  // a sign of life
  CHECK_FALSE(second.take("step1", start + kLease + std::chrono::seconds(1)));
  CHECK_FALSE(second.take("step1", start + 2 * kLease));
  CHECK(old->held());
  const auto now = second.take("step1", start + 2 * kLease + std::chrono::seconds(2));
  REQUIRE(now);
  CHECK_FALSE(old->held());
  old.reset();  // its release is of the claim that it had
  CHECK(now->held());
  CHECK(first.is_taken("step1"));
}

TEST_CASE("claims: one that cannot be read is waited for as long as any other", "[store]") {
  const TemporaryDir run;
  Claims first = claims_of(run.path(), "0001-aaaaaaaa");
  { const auto claim = first.take("step1"); }
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "claims")) {
    if (entry.path().extension() == ".released") {
      fs::remove(entry.path());
    } else {
      std::ofstream(entry.path()) << "torn";
    }
  }
  const auto start = Claims::Clock::now();
  CHECK_FALSE(first.take("step1", start));
  CHECK(first.take("step1", start + kLease + std::chrono::seconds(1)));
}

TEST_CASE("claims: a claim and its release are all that is left", "[store]") {
  const TemporaryDir run;
  Claims claims = claims_of(run.path(), "0001-aaaaaaaa");
  for (int i = 0; i < 3; ++i) {
    CHECK(claims.take("step1"));
  }
  CHECK(files_in(run / "claims") == 6);
}
