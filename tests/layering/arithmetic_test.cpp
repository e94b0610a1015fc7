// What the host computes that ends in a stored value is computed in core/arithmetic: its build id
// is in every key. Code elsewhere may change without a key that changes, so it may not compute;
// report and cli are left out, because they only show.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/layering/source_tree.hpp"

namespace {

// A file and what it computes with: a function of std, or a variable that sums or scales up.
using Computed = std::pair<std::string, std::string>;

// What computes outside core/arithmetic all the same, and why no stored value depends on it.
const std::map<Computed, const char*>& allowed() {
  constexpr const char* kCheck = "a distance that is held against a tolerance";
  constexpr const char* kClock = "seconds";
  constexpr const char* kShown = "worked out where records are shown";
  constexpr const char* kCost = "an estimate of costs";
  constexpr const char* kRate = "a learning rate, which is in the key of all that it makes";
  constexpr const char* kLog = "the loss in the log of a training";
  static const std::map<Computed, const char*> all = {
      {{"core/pass/logit_probe.cpp", "off"}, kCheck},
      {{"core/pass/logit_probe.cpp", "size"}, kCheck},
      {{"core/pass/logit_probe.cpp", "sqrt"}, kCheck},
      {{"core/pass/pass_clock.cpp", "named"}, kClock},
      {{"core/store/derived.cpp", "mean"}, kShown},
      {{"core/store/derived.cpp", "sqrt"}, kShown},
      {{"core/store/derived.cpp", "squares"}, kShown},
      {{"run/grid/estimate.cpp", "flops"}, kCost},
      {{"run/grid/estimate.cpp", "log"}, kCost},
      {{"run/grid/estimate.cpp", "seconds"}, kCost},
      {{"run/grid/expected_run.cpp", "accumulate"}, kCost},
      {{"train/training_flops.cpp", "accumulate"}, kCost},
      {{"train/training_flops.cpp", "linear"}, kCost},
      {{"train/training_segment.cpp", "loss"}, kLog},
      {{"train/update_rate.cpp", "cos"}, kRate},
      {{"train/update_rate.cpp", "pow"}, kRate},
      {{"train/update_rate.cpp", "sqrt"}, kRate},
  };
  return all;
}

// Without the comments at the ends of lines.
std::string code_of(const std::string& text) {
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

std::set<std::string> computed_with(const std::string& text) {
  static const std::regex kCall(
      R"re(std::(acos|asin|atan2?|cbrt|cosh?|erfc?|exp2?|expm1|fma|hypot|log|log10|log1p|log2)re"
      R"re(|pow|sinh?|sqrt|tanh?|accumulate|inner_product|reduce|transform_reduce)\()re");
  static const std::regex kFloat(R"re(\b(?:double|float)&? (\w+)\s*[=;{,)])re");
  static const std::regex kChange(R"re(\b(\w+) [-+*/]= )re");
  const std::string code = code_of(text);
  const auto all = [&](const std::regex& pattern) {
    std::set<std::string> found;
    for (std::sregex_iterator it(code.begin(), code.end(), pattern), end; it != end; ++it) {
      found.insert((*it)[1]);
    }
    return found;
  };
  std::set<std::string> out = all(kCall);
  const std::set<std::string> floats = all(kFloat);
  for (const std::string& changed : all(kChange)) {
    if (floats.contains(changed)) {
      out.insert(changed);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("layering: host folders other than core/arithmetic do not compute values", "[layering]") {
  std::string objections;
  std::set<Computed> found;
  size_t checked = 0;
  for (const char* folder : {"core", "train", "run"}) {
    for (const std::string& file : quench::test::files_below(folder, {".hpp", ".cpp"})) {
      if (file.starts_with("core/arithmetic/")) {
        continue;
      }
      ++checked;
      for (const std::string& what : computed_with(quench::test::source(file))) {
        found.emplace(file, what);
        if (!allowed().contains({file, what})) {
          objections += fmt::format("{}: {}: belongs into core/arithmetic\n", file, what);
        }
      }
    }
  }
  for (const auto& [computed, why] : allowed()) {
    if (!found.contains(computed)) {
      objections +=
          fmt::format("{}: {} ({}): is not there any more\n", computed.first, computed.second, why);
    }
  }
  CHECK(checked > 200);
  CHECK(objections == "");
}

TEST_CASE("layering: sums and functions of floating-point numbers are found", "[layering]") {
  using Found = std::set<std::string>;
  CHECK(computed_with("double sum = 0;\nfor (...) { sum += x; }") == Found{"sum"});
  CHECK(computed_with("float scale{1};\nscale *= 2;") == Found{"scale"});
  CHECK(computed_with("void add(double& total) { total += 1; }") == Found{"total"});
  CHECK(computed_with("return std::sqrt(x) + std::accumulate(a, b, 0.0);") ==
        Found{"accumulate", "sqrt"});
  for (const char* text : {"size_t sum = 0; sum += 1;", "double sum = 0;  // sum += 1", "log(text)",
                           "std::string out; out += text;", "handle.accumulate(values)"}) {
    CAPTURE(text);
    CHECK(computed_with(text).empty());
  }
}
