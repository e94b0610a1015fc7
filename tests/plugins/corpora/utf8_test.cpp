#include "corpora/shared/utf8.hpp"

#include <catch2/catch.hpp>

using quench::corpora::first_invalid_utf8;

TEST_CASE("first_invalid_utf8 accepts every form and refuses what Unicode excludes",
          "[corpora][utf8]") {
  const std::string padding = "eight by";  // so that the fast path runs first
  for (const char* valid : {"", "a", "\u00e9", "\u20ac", "\U0001F600", "\xed\x9f\xbf",
                            "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    CHECK(first_invalid_utf8(padding + valid + padding) == std::string::npos);
  }
  for (const char* invalid : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
                              "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                              "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    CHECK(first_invalid_utf8(padding + invalid) == padding.size());
    CHECK(first_invalid_utf8(padding + invalid + "a") == padding.size());
  }
}
