// A whole model through GPTQ against the reference implementation.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/regression/reference.hpp"
#include "tests/regression/settings.hpp"

namespace quench::test {

using json = nlohmann::json;

namespace {

// A rounding difference flips a code now and then; the flip redraws the rest of its row and moves
// all that comes later, so later linears and the loss are compared loosely.
void compare_gptq(const Settings& settings, double first_tolerance, const std::string& name) {
  Worst first;
  Worst later;
  Worst loss;
  for (size_t s = 0; s < settings.records.size(); ++s) {
    const json& setting = settings.expected[s];
    for_each_layer(settings.records[s], setting,
                   [&](size_t i, double got, double wanted, const std::string& where) {
                     (i == 0 ? first : later).see(relative(got, wanted), where);
                   });
    const double got = settings.records[s].at("value");
    loss.see(std::fabs(got - setting.at("ce").get<double>()), setting.at("id"));
  }
  first.print(name + ", first linear, relative difference of its error");
  later.print(name + ", later linears, likewise");
  loss.print(name + ", difference of the loss");
  CHECK(first.value() < first_tolerance);
  CHECK(later.value() < 0.05);
  CHECK(loss.value() < 0.005);
}

}  // namespace

TEST_CASE("gptq: the whole model agrees with the reference in float64", "[regression][gptq]") {
  const Settings settings = run_settings("gptq", ",precision=float64");
  CHECK(settings.records.size() == 13);
  compare_gptq(settings, 1e-3, "gptq float64");
}

TEST_CASE("gptq: the whole model agrees with the reference in float32", "[regression][gptq]") {
  const Settings settings = run_settings("gptq", ",precision=float32");
  CHECK(settings.records.size() == 13);
  compare_gptq(settings, 0.03, "gptq float32");
}

}  // namespace quench::test
