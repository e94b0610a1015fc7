// Averages along the reference trajectory, made by `quench average` and measured by `quench eval`.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

using json = nlohmann::json;

TEST_CASE("average: LAWA along the trajectory has the reference's loss", "[regression][lawa]") {
  const auto model = fixture("trajectories/gpt_neox-traj");
  const auto expected = fixture("quantization/trajectory.json");
  const auto text = ValidationText::make();
  const TemporaryDir folder;
  Worst loss;
  const json reference = read_json(expected);
  for (const json& entry : reference.at("lawa")) {
    const std::string name = entry.at("revision");
    std::vector<std::string> arguments = {"average"};
    for (const json& revision : entry.at("window")) {
      arguments.push_back((model / revision.get<std::string>()).string());
    }
    arguments.insert(arguments.end(),
                     {"--scheme", "lawa:window=" + std::to_string(entry.at("window").size()), "-o",
                      (folder / name).string()});
    const json made = quench_json(arguments);
    CHECK(made.at("members").size() == entry.at("window").size());
    const json document =
        quench_json({"eval", (folder / name).string(), "--metric", text.metric()});
    loss.see(relative(document.at("records").at(0).at("value"), entry.at("ce_fp32")), name);
  }
  loss.print("lawa along the trajectory, relative difference of the loss");
  CHECK(reference.at("lawa").size() == 2);
  CHECK(loss.value() < 1e-6);
}

}  // namespace quench::test
