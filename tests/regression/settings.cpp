#include "tests/regression/settings.hpp"

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

using json = nlohmann::json;

namespace {

// One setting of final_model.json in the form of --quantizer.
std::string inline_form(const json& setting) {
  const auto flag = [&](const char* key) { return setting.value(key, false) ? "true" : "false"; };
  std::string out = setting.at("method").get<std::string>() +
                    ":bits=" + std::to_string(setting.at("bits").get<int>()) +
                    ",group_size=" + std::to_string(setting.at("group").get<int>()) +
                    ",sym=" + flag("sym");
  if (setting.at("method") == "gptq") {
    out += std::string(",desc_act=") + flag("desc_act") +
           ",scale_from=" + setting.at("group_params").get<std::string>() + ",block=128";
  }
  return out;
}

}  // namespace

Settings run_settings(const std::string& method, const std::string& more) {
  const auto folder = fixture("quantization");
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  Settings out;
  std::vector<std::string> arguments = {
      "eval",        model.string(),  "--metric",
      text.metric(), "--calibration", "tokens=" + (folder / "calibration.safetensors").string()};
  const json document = read_json(folder / "final_model.json");
  for (const json& setting : document.at("results")) {
    if (setting.at("method") == method) {
      out.expected.push_back(setting);
      arguments.insert(arguments.end(), {"--quantizer", inline_form(setting) + more});
    }
  }
  out.records = records_of(quench_json(arguments), "validation_loss");
  REQUIRE(out.records.size() == out.expected.size() + 1);
  out.records.erase(out.records.begin());  // the float model
  return out;
}

}  // namespace quench::test
