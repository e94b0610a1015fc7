#include "core/arithmetic/shuffle.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

using quench::Shuffle;

namespace {

std::vector<uint64_t> all(const Shuffle& shuffle, uint64_t count) {
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < count; ++i) {
    out.push_back(shuffle(i));
  }
  return out;
}

}  // namespace

TEST_CASE("shuffle: every number comes once, whatever the count", "[train]") {
  for (const uint64_t count : {1u, 2u, 3u, 5u, 16u, 17u, 1000u, 4097u}) {
    CAPTURE(count);
    const std::vector<uint64_t> order = all(Shuffle(count, 7, 0), count);
    const std::set<uint64_t> distinct(order.begin(), order.end());
    CHECK(distinct.size() == count);
    CHECK(*distinct.rbegin() == count - 1);
  }
}

TEST_CASE("shuffle: seeds and epochs give other orders", "[train]") {
  const auto order = all(Shuffle(1000, 7, 0), 1000);
  CHECK(order == all(Shuffle(1000, 7, 0), 1000));
  CHECK(order != all(Shuffle(1000, 8, 0), 1000));
  CHECK(order != all(Shuffle(1000, 7, 1), 1000));
}

// Of 1000 numbers in random order about one stays, and the mean distance of neighbours is a third.
TEST_CASE("shuffle: neighbours are torn apart", "[train]") {
  constexpr uint64_t kCount = 1000;
  const auto order = all(Shuffle(kCount, 1, 0), kCount);
  size_t stay = 0;
  double distance = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    stay += order[i] == i ? 1 : 0;
    if (i > 0) {
      distance += std::abs(static_cast<double>(order[i]) - static_cast<double>(order[i - 1]));
    }
  }
  CHECK(stay < 10);
  CHECK(distance / kCount == Approx(kCount / 3.0).epsilon(0.1));
}
