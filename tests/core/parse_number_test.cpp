#include "core/parse_number.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

using quench::parse_number;

TEST_CASE("parse_number: a text that is a number gives it", "[core]") {
  CHECK(parse_number<uint64_t>("0") == 0);
  CHECK(parse_number<uint64_t>("007") == 7);
  CHECK(parse_number<uint64_t>("18446744073709551615") == UINT64_MAX);
  CHECK(parse_number<int64_t>("-9223372036854775808") == INT64_MIN);
  CHECK(parse_number<double>("-2.5e-3") == -0.0025);
}

TEST_CASE("parse_number: anything else gives nothing", "[core]") {
  for (const char* text : {"", " ", "-", "+1", " 1", "1 ", "1x", "x1", "1.0", "0x10", "1,000"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number<uint64_t>(text));
    CHECK_FALSE(parse_number<int32_t>(text));
  }
  CHECK_FALSE(parse_number<uint64_t>("-1"));
  CHECK_FALSE(parse_number<double>("1.5x"));
  CHECK_FALSE(parse_number<uint64_t>(std::string("1\0", 2)));
}

TEST_CASE("parse_number: what does not fit the type gives nothing", "[core]") {
  CHECK(parse_number<int32_t>("2147483647") == INT32_MAX);
  CHECK_FALSE(parse_number<int32_t>("2147483648"));
  CHECK_FALSE(parse_number<uint64_t>("18446744073709551616"));
  CHECK_FALSE(parse_number<double>("1e999"));
}
