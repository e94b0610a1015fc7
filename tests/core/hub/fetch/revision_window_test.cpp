#include "core/hub/fetch/revision_window.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "tests/support/throws.hpp"

using Catch::Matchers::Contains;
using quench::forecast;
using quench::RevisionStore;
using quench::RevisionWindow;
using quench::SimulatedFile;
using quench::WindowForecast;

namespace {

// Revisions of 10 bytes each, none shared. Notes what is asked of it.
class Notes final : public RevisionStore {
 public:
  uint64_t used() override { return 10 * here.size(); }
  bool has(size_t revision) override {
    return here.contains(revision) || foreign.contains(revision);
  }
  uint64_t missing(size_t revision) override { return has(revision) ? 0 : 10; }
  void fetch(size_t revision) override {
    here.insert(revision);
    ++fetches[revision];
    most = std::max(most, used());
  }
  void keep_only(const std::set<size_t>& revisions) override {
    std::erase_if(here, [&](size_t revision) { return !revisions.contains(revision); });
  }
  void claim(const std::set<size_t>& revisions) override { claimed = revisions; }

  std::set<size_t> here;
  std::set<size_t> foreign;  // there before, and nobody's to remove
  std::set<size_t> claimed;
  std::map<size_t, int> fetches;
  uint64_t most = 0;
};

using Steps = std::vector<std::set<size_t>>;

// Goes through all steps; what may come ahead comes.
void go(RevisionWindow& window, Notes& store, const Steps& steps) {
  for (size_t step = 0; step < steps.size(); ++step) {
    window.begin(step);
    for (const size_t revision : steps[step]) {
      CAPTURE(step, revision);
      REQUIRE(store.has(revision));
    }
    if (const auto next = window.next(step)) {
      store.fetch(*next);
    }
  }
  window.end();
}

std::vector<std::vector<SimulatedFile>> simulated(size_t count) {
  std::vector<std::vector<SimulatedFile>> out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back({{"weights " + std::to_string(i), 10, true}, {"config", 1, false}});
  }
  return out;
}

}  // namespace

TEST_CASE("RevisionWindow: one revision comes ahead, and each goes after its last step",
          "[fetch]") {
  Notes store;
  const Steps steps = {{0}, {1}, {2}, {3}};
  RevisionWindow window(steps, 0, true, store);
  window.begin(0);
  CHECK(store.here == std::set<size_t>{0});
  CHECK(store.claimed == std::set<size_t>{0});
  CHECK(window.next(0) == 1);
  CHECK(store.claimed == std::set<size_t>{0, 1});
  store.fetch(1);
  window.begin(1);
  CHECK(store.here == std::set<size_t>{1});
  CHECK(window.next(1) == 2);
  window.begin(2);  // what was to come ahead did not come
  CHECK(store.here == std::set<size_t>{2});
  window.begin(3);
  CHECK_FALSE(window.next(3));
  window.end();
  CHECK(store.here.empty());
  CHECK(store.claimed.empty());
}

TEST_CASE("RevisionWindow: the members of an average are there together, each fetched once",
          "[fetch]") {
  Notes store;
  // raw 0, raw 1, raw 2, average of 0..2, raw 3, average of 1..3
  const Steps steps = {{0}, {1}, {2}, {0, 1, 2}, {3}, {1, 2, 3}};
  RevisionWindow window(steps, 40, true, store);
  go(window, store, steps);
  for (const auto& [revision, count] : store.fetches) {
    CAPTURE(revision);
    CHECK(count == 1);
  }
  CHECK(store.most == 40);
  CHECK(store.here.empty());
}

TEST_CASE(
    "RevisionWindow: with room for the members alone nothing comes ahead of them, and no "
    "byte exceeds the limit",
    "[fetch]") {
  Notes store;
  const Steps steps = {{0}, {1}, {2}, {0, 1, 2}, {3}, {1, 2, 3}};
  RevisionWindow window(steps, 30, true, store);
  go(window, store, steps);
  CHECK(store.most == 30);
}

TEST_CASE("RevisionWindow: where the limit binds, what is needed last goes and comes again",
          "[fetch]") {
  Notes store;
  const Steps steps = {{0}, {1}, {2}, {0}, {1}, {2}};  // two points of a sweep
  RevisionWindow window(steps, 20, true, store);
  go(window, store, steps);
  CHECK(store.most == 20);
  CHECK(store.fetches[0] >= 1);
  CHECK(store.fetches[0] + store.fetches[1] + store.fetches[2] > 3);
}

TEST_CASE("RevisionWindow: without `evict` nothing goes, and a limit that is too small is an error",
          "[fetch]") {
  Notes store;
  const Steps steps = {{0}, {1}, {2}};
  RevisionWindow window(steps, 20, false, store);
  window.begin(0);
  window.begin(1);
  const std::string message = quench::test::message_of([&] { window.begin(2); });
  CHECK(
      message ==
      "storage: limit = 20 bytes, wanted 30 for the next weights: 20 are there and needed, 10 are "
      "to be fetched");
  window.end();
  CHECK(store.here == std::set<size_t>{0, 1});
}

TEST_CASE("RevisionWindow: what was there before is neither fetched nor counted", "[fetch]") {
  Notes store;
  store.foreign = {0, 1};
  const Steps steps = {{0, 1}, {0, 1, 2}};
  RevisionWindow window(steps, 10, true, store);
  go(window, store, steps);
  CHECK(store.fetches == std::map<size_t, int>{{2, 1}});
}

TEST_CASE("RevisionWindow: any order of steps keeps the limit of its largest step", "[fetch]") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Steps steps(1 + random() % 12);
    size_t largest = 0;
    for (std::set<size_t>& step : steps) {
      for (size_t i = random() % 4; i > 0; --i) {
        step.insert(random() % 8);
      }
      largest = std::max(largest, step.size());
    }
    Notes store;
    RevisionWindow window(steps, 10 * std::max<size_t>(1, largest), true, store);
    CAPTURE(round);
    go(window, store, steps);
    CHECK(store.most <= 10 * largest);
    CHECK(store.here.empty());
  }
}

TEST_CASE("forecast: least is the largest step with the small files of all, peak what is reached",
          "[fetch]") {
  const Steps steps = {{0}, {1}, {2}, {0, 1, 2}, {3}, {1, 2, 3}};
  const WindowForecast free = forecast(steps, 0, true, simulated(4));
  CHECK(free.least == 31);  // three of 10 and one config
  CHECK(free.least_step == 3);
  CHECK(free.peak == 41);
  CHECK(free.fetched == 41);
  const WindowForecast tight = forecast(steps, 31, true, simulated(4));
  CHECK(tight.peak == 31);
  CHECK(tight.fetched == 41);
  const WindowForecast kept = forecast(steps, 0, false, simulated(4));
  CHECK(kept.least == 41);
  CHECK(kept.peak == 41);
  const WindowForecast refused = forecast(steps, 30, true, simulated(4));
  CHECK(refused.least == 31);
  CHECK(refused.peak == 0);
}

TEST_CASE("forecast: a resumed run counts what it has and fetches the rest", "[fetch]") {
  const WindowForecast got = forecast({{0}, {1}}, 0, true, simulated(2), {"weights 0", "config"});
  CHECK(got.fetched == 10);
  CHECK(got.peak == 21);
}
