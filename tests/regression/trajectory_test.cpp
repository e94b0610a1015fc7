// A manifest over a trajectory against the reference implementation.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

using json = nlohmann::json;

TEST_CASE("run: RTN along the trajectory agrees with the reference", "[regression][rtn]") {
  const auto model = fixture("trajectories/gpt_neox-traj");
  const auto expected = fixture("quantization/trajectory.json");
  const auto text = ValidationText::make();
  const json document = run_manifest(
      "name: trajectory\n"
      "checkpoints: {model: \"" +
      model.string() +
      "\", revisions: \"step{step}\"}\n"
      "quantizers: [rtn: {bits: [3, 4], group_size: 128}]\n"
      "metrics: [validation_loss: {corpus: validation, block: 128}]\n"
      "corpora: {validation: {text: {path: \"" +
      text.file().string() + "\"}}}\n");
  std::map<std::string, json> by_revision;
  const json reference = read_json(expected);
  for (const json& entry : reference.at("revisions")) {
    by_revision[entry.at("revision")] = entry;
  }
  Worst loss;
  Worst error;
  size_t seen = 0;
  int64_t last_step = -1;
  for (const json& record : document.at("records")) {
    if (record.at("quantizer").is_null()) {
      CHECK(record.at("checkpoint").at("step") > last_step);  // in the order of training
      last_step = record.at("checkpoint").at("step");
      continue;
    }
    const std::string revision = record.at("checkpoint").at("revision");
    const int bits = record.at("quantizer").at("params").at("bits");
    const std::string method = "rtn" + std::to_string(bits);
    const json& wanted = by_revision.at(revision).at(method);
    if (record.at("metric") == "quantization_error") {
      const double difference =
          record.at("value").get<double>() - wanted.at("quantization_error").get<double>();
      error.see(std::fabs(difference), revision + " " + method);
    } else {
      loss.see(relative(record.at("value"), wanted.at("ce")), revision + " " + method);
      ++seen;
    }
  }
  loss.print("rtn along the trajectory, relative difference of the loss");
  error.print("rtn along the trajectory, difference of the quantization error");
  CHECK(seen == 2 * by_revision.size());
  CHECK(seen == 28);
  CHECK(loss.value() < 1e-6);
  CHECK(error.value() < 1e-6);
}

}  // namespace quench::test
