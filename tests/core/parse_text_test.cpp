#include "core/parse_text.hpp"

#include <catch2/catch.hpp>

using Parts = std::vector<std::string_view>;

TEST_CASE("split: empty parts are parts, at the ends too", "[core]") {
  CHECK(quench::split("a:b", ':') == Parts{"a", "b"});
  CHECK(quench::split(":a::", ':') == Parts{"", "a", "", ""});
  CHECK(quench::split("", ':') == Parts{""});
}

TEST_CASE("trimmed: blanks around a text go, blanks in it stay", "[core]") {
  CHECK(quench::trimmed(" \ta b ") == "a b");
  CHECK(quench::trimmed("a\r\n", "\r\n") == "a");
  CHECK(quench::trimmed(" \t") == "");
}
