// A whole model through RTN against the reference implementation.
#include <catch2/catch.hpp>

#include "tests/regression/reference.hpp"
#include "tests/regression/settings.hpp"

namespace quench::test {

using json = nlohmann::json;

TEST_CASE("rtn: the whole model agrees with the reference", "[regression][rtn]") {
  const auto settings = run_settings("rtn", "");
  CHECK(settings.records.size() == 8);
  Worst loss;
  Worst layers;
  for (size_t s = 0; s < settings.records.size(); ++s) {
    const json& setting = settings.expected[s];
    loss.see(relative(settings.records[s].at("value"), setting.at("ce")), setting.at("id"));
    for_each_layer(settings.records[s], setting,
                   [&](size_t, double got, double wanted, const std::string& where) {
                     layers.see(relative(got, wanted), where);
                   });
  }
  loss.print("rtn, relative difference of the loss");
  layers.print("rtn, relative difference of a linear's error");
  CHECK(loss.value() < 1e-6);
  CHECK(layers.value() < 1e-6);
}

}  // namespace quench::test
