#include "core/store/difference.hpp"

#include <catch2/catch.hpp>

using nlohmann::json;
using quench::explain_difference;

namespace {

std::vector<std::string> told(const json& was, const json& is) {
  std::vector<std::string> out;
  for (const quench::Difference& one : explain_difference(was, is)) {
    out.push_back(difference_text(one));
  }
  return out;
}

}  // namespace

TEST_CASE("difference: every leaf that differs, with its path", "[store]") {
  const json was = {{"weights", "aa"},
                    {"quantizer", {{"id", "q"}, {"params", {{"bits", 4}, {"sym", true}}}}},
                    {"members", {"x", "y"}},
                    {"list", {1, 2}},
                    {"gone", 1}};
  json is = was;
  CHECK(explain_difference(was, is).empty());
  is["weights"] = "bb";
  is["quantizer"]["params"]["bits"] = 3;
  is["members"][1] = "z";
  is["list"] = {1, 2, 3};
  is.erase("gone");
  is["fresh"] = {{"a", 1}};
  CHECK(told(was, is) ==
        std::vector<std::string>{"fresh: {\"a\":1}, was nothing", "gone: nothing, was 1",
                                 "list: [1,2,3], was [1,2]", "members[1]: \"z\", was \"y\"",
                                 "quantizer.params.bits: 3, was 4", "weights: \"bb\", was \"aa\""});
}

TEST_CASE("difference: an integer is not the double of its value", "[store]") {
  CHECK(told({{"a", 1}}, {{"a", 1.0}}) == std::vector<std::string>{"a: 1.0, was 1"});
}
