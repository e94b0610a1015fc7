#include "metrics/tasks/python_random.hpp"

#include <catch2/catch.hpp>

using quench::tasks::PythonRandom;
using Sample = std::vector<size_t>;

// What random.Random(1234).sample(range(n), k) gives in CPython 3.11.
TEST_CASE("python random: draws what CPython draws", "[metrics][tasks]") {
  PythonRandom five(1234);
  CHECK(five.sample(1119, 5) == Sample{902, 239, 15, 185, 71});
  CHECK(five.sample(1119, 5) == Sample{171, 201, 726, 484, 35});
  CHECK(five.sample(1119, 5) == Sample{63, 32, 708, 991, 949});
  PythonRandom six(1234);
  CHECK(six.sample(16113, 6) == Sample{15834, 12749, 7220, 1914, 122, 1485});
}

TEST_CASE("python random: a small population is drawn from a shrinking pool", "[metrics][tasks]") {
  PythonRandom random(1234);
  CHECK(random.sample(10, 5) == Sample{7, 1, 0, 9, 4});
  CHECK(random.sample(21, 5) == Sample{1, 2, 3, 11, 7});
  CHECK(random.sample(22, 5) == Sample{0, 11, 20, 19, 15});
  CHECK(random.sample(80, 6) == Sample{78, 59, 19, 11, 23, 14});
  CHECK(random.sample(86, 6) == Sample{1, 64, 62, 31, 8, 85});
  CHECK(random.sample(5, 5) == Sample{4, 3, 0, 2, 1});
  PythonRandom other(7);
  CHECK(other.sample(700, 20) == Sample{331, 154, 404, 666, 49, 74,  548, 96, 374, 596,
                                        59,  519, 219, 38,  88, 444, 428, 71, 246, 92});
}
