// What one process shows to the other: numbers, and what is taken back while it is in use.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench {

namespace {

using namespace std::chrono_literals;

constexpr int kKind = 3;

// A table and an object that the other process knows by number.
struct Shown {
  wire::Exports exports;
  int table = 0;
  int object = 0;
  const uint64_t t = exports.add_interface(*wire::kTables[0], &table, false, nullptr);
  const uint64_t o = exports.add_object(kKind, &object);
};

}  // namespace

TEST_CASE("exports: a number that was taken back is refused", "[wire]") {
  Shown shown;
  CHECK(shown.t != shown.o);
  CHECK(shown.exports.table(shown.t).table == &shown.table);
  CHECK(shown.exports.object(kKind, shown.o) == &shown.object);
  CHECK_THROWS_AS(shown.exports.object(kKind + 1, shown.o), Error);
  shown.exports.drop_table(shown.t);
  shown.exports.drop_object(shown.o);
  CHECK_THROWS_AS(shown.exports.use_table(shown.t), Error);
  CHECK_THROWS_AS(shown.exports.use_object(kKind, shown.o), Error);
  CHECK(shown.exports.size() == 0);
}

TEST_CASE("exports: another table at the address of one that is gone has a number of its own",
          "[wire]") {
  // As an extension's table has that lies where one of another extension, and another model, lay.
  const int memory = 0;
  wire::Exports exports;
  const uint64_t lent = exports.add_table(*wire::kTables[0], &memory, 1);
  const uint64_t whole = exports.add_table(*wire::kTables[0], &memory);
  const uint64_t other = exports.add_table(*wire::kTables[1], &memory);
  CHECK(exports.add_table(*wire::kTables[0], &memory, 1) == lent);
  CHECK(exports.add_table(*wire::kTables[1], &memory) == other);
  CHECK(exports.table(lent).type == wire::kTables[0]);
  CHECK(exports.table(lent).allowed == 1);
  CHECK(exports.table(whole).allowed == ~uint64_t{0});
  CHECK(exports.table(other).type == wire::kTables[1]);
}

TEST_CASE("exports: what another thread works with is taken back when its call is over", "[wire]") {
  Shown shown;
  std::atomic<int> dropped{0};
  std::thread other;
  {
    const auto [entry, of_table] = shown.exports.use_table(shown.t);
    const auto [pointer, of_object] = shown.exports.use_object(kKind, shown.o);
    other = std::thread([&] {
      shown.exports.drop_table(shown.t);
      ++dropped;
      shown.exports.drop_object(shown.o);
      ++dropped;
    });
    std::this_thread::sleep_for(50ms);
    CHECK(dropped == 0);
    CHECK(shown.exports.table(shown.t).table == &shown.table);  // still there for the call
  }
  other.join();
  CHECK(dropped == 2);
}

TEST_CASE("exports: a call that closes what it was called on does not wait for itself", "[wire]") {
  Shown shown;
  const auto [pointer, use] = shown.exports.use_object(kKind, shown.o);
  CHECK(pointer == &shown.object);
  shown.exports.drop_object(shown.o);
  CHECK_THROWS_AS(shown.exports.object(kKind, shown.o), Error);
}

}  // namespace quench
