// Counts with units, and ranges of versions.
#include <catch2/catch.hpp>

#include "core/base/config/amount.hpp"
#include "core/base/config/version_range.hpp"
#include "tests/support/throws.hpp"

using quench::parse_amount;
using quench::parse_bytes;
using quench::VersionRange;

TEST_CASE("amount: digits with a unit are a whole number", "[config]") {
  CHECK(parse_amount("0") == 0);
  CHECK(parse_amount("600") == 600);
  CHECK(parse_amount("20k") == 20'000);
  CHECK(parse_amount("20K") == 20'000);
  CHECK(parse_amount("7M") == 7'000'000);
  CHECK(parse_amount("4000B") == 4'000'000'000'000);
  CHECK(parse_amount("1.5T") == 1'500'000'000'000);
  CHECK(parse_amount("0.25k") == 250);
  CHECK(parse_amount("9223372036854775807") == INT64_MAX);
}

TEST_CASE("bytes: units of 1000 and of 1024, with or without B", "[config]") {
  CHECK(parse_bytes("512") == 512);
  CHECK(parse_bytes("512B") == 512);
  CHECK(parse_bytes("2kB") == 2'000);
  CHECK(parse_bytes("2 KiB") == 2'048);
  CHECK(parse_bytes("200GB") == 200'000'000'000);
  CHECK(parse_bytes("1.5T") == 1'500'000'000'000);
  CHECK(parse_bytes("0.5MiB") == 524'288);
  CHECK(parse_bytes("0.3KiB") == 307);                         // 307.2
  CHECK(parse_bytes("18446744073709551615") == std::nullopt);  // beyond 63 bits
  for (const char* text : {"", "B", "GB", "-1", "+1", "many", "1 B", "1iB", "1kkB", "5kMB", "1e3",
                           "010", "1.GB", ".5GB", "1.5.5GB", "20000000000TB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

TEST_CASE("amount: what is no whole number is none", "[config]") {
  for (const char* text : {"",
                           "k",
                           "-1",
                           "+1",
                           "1.5",
                           "1.2345k",
                           ".5k",
                           "5.k",
                           "1..5k",
                           "010",
                           "0x4",
                           "1e3",
                           " 1",
                           "1 k",
                           "1kk",
                           "1_000",
                           "9223372036854775808",
                           "9223372036854775807k",
                           "1,000",
                           "ten"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_amount(text));
  }
}

TEST_CASE("version range: all conditions must hold, missing numbers are 0", "[config]") {
  CHECK(VersionRange(">=0.1").contains("0.1.0"));
  CHECK(VersionRange(">=0.1").contains("0.10.0"));
  CHECK_FALSE(VersionRange(">=0.2").contains("0.1.9"));
  CHECK(VersionRange("0.1").contains("0.1.0"));
  CHECK_FALSE(VersionRange("0.1").contains("0.1.1"));
  CHECK(VersionRange(">=0.1, <1").contains("0.9.9-rc1"));
  CHECK_FALSE(VersionRange(">=0.1,<1").contains("1.0.0"));
  CHECK(VersionRange("!=0.1.3").contains("0.1.4"));
  CHECK_FALSE(VersionRange(">0.1").contains("0.1.0"));
  CHECK(VersionRange("<=0.1.0").contains("0.1.0"));
  CHECK_FALSE(VersionRange(">=0").contains("unknown"));
}

TEST_CASE("version range: what is none is refused", "[config]") {
  for (const char* text : {"", ">=", "~1", "1.", "1.2.3.4", ">=0.1,", "a", "=> 1", "1.2-rc"}) {
    CAPTURE(text);
    CHECK(quench::test::code_of([&] { VersionRange{text}; }) == QUENCH_INVALID_ARGUMENT);
  }
}
