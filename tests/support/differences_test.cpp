#include "tests/support/differences.hpp"

#include <cstdint>
#include <limits>
#include <vector>

using quench::test::differences;
using Ints = std::vector<int32_t>;

TEST_CASE("differences: nothing is said of equal sequences", "[support]") {
  CHECK(differences(Ints{}, Ints{}) == "");
  CHECK(differences(Ints{1, 2}, std::vector<double>{1, 2}) == "");
  CHECK(differences("text", std::string("text")) == "");
}

TEST_CASE("differences: the first few are shown, and all are counted", "[support]") {
  CHECK(differences(Ints{1, 2, 3}, Ints{1, 5, 3}) == "1 of 3 differ: [1] got 2, wanted 5");
  Ints many(288'000, 0);
  const Ints zeros = many;
  many[10] = 1;
  std::fill(many.begin() + 1000, many.begin() + 1007, 2);
  CHECK(differences(many, zeros) ==
        "8 of 288000 differ: [10] got 1, wanted 0; [1000] got 2, wanted 0; [1001] got 2, wanted 0; "
        "[1002] got 2, wanted 0; [1003] got 2, wanted 0; ...");
}

TEST_CASE("differences: another length is a difference", "[support]") {
  CHECK(differences(Ints{1}, Ints{1, 2}) == "got 1 elements, wanted 2");
  CHECK(differences(Ints{3, 2}, Ints{1}) ==
        "got 2 elements, wanted 1; 1 of 1 differ: [0] got 3, wanted 1");
}

TEST_CASE("differences: a NaN differs from itself, as == says", "[support]") {
  const std::vector<float> nan = {std::numeric_limits<float>::quiet_NaN()};
  CHECK(differences(nan, nan) == "1 of 1 differ: [0] got nanf, wanted nanf");
}

TEST_CASE("differences: of texts, line and byte are told", "[support]") {
  CHECK(differences("a\nbc", "a\nbd") ==
        "line 2, byte 3: got \"c\", wanted \"d\" (4 and 4 bytes in all)");
  CHECK(differences("a", "") == "line 1, byte 0: got \"a\", wanted \"\" (1 and 0 bytes in all)");
  CHECK(differences(std::string(1'000'000, 'x'), std::string(1'000'000, 'y')).size() < 300);
}
