#include "tests/contract/device.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/answer.hpp"
#include "tests/support/skip.hpp"

namespace quench::test {

using nlohmann::json;

void need_device(const Workplace& here, const std::string& device) {
  const json gpus = data_of(here.run({"doctor", "--json"}).out).at("gpus");
  skip_unless(device == "cpu" || !gpus.at("devices").empty(),
              "no GPU: " + gpus.at("absence").dump());
}

std::string recorded_device(const Workplace& here, const std::string& device) {
  if (device == "cpu") {
    return device;
  }
  const json gpu = data_of(here.run({"doctor", "--json"}).out).at("gpus").at("devices").at(0);
  return gpu.at("name").get<std::string>() + ", " + gpu.at("capability").get<std::string>();
}

Values measured(const Workplace& here, const std::string& device,
                const std::vector<std::string>& environment, std::string* said) {
  Workplace::Arguments words = {"run", "m.yaml", "--out", "done"};
  if (std::filesystem::exists(here.folder() / "plugins")) {  // copies, in processes of their own
    words.insert(words.end(), {"--plugin-path", "plugins"});
  }
  Command run = here.command(words);
  run.environment->insert(run.environment->end(), environment.begin(), environment.end());
  ChildProcess process = ChildProcess::start(run);
  const Outcome ran = here.wait(process);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  if (said != nullptr) {
    *said = ran.err;
  }
  Values out;
  const json results = data_of(here.run({"results", "done", "--json"}).out);
  for (const json& record : results.at("records")) {
    const std::string found = record.at("environment").at("device");
    CHECK((found == recorded_device(here, device) ||
           record.dump().find("\"process\":\"own\"") != std::string::npos));
    std::vector<std::string> place = {record.at("metric"), record.at("label"),
                                      record.at("job").dump()};
    for (const char* part : {"checkpoint", "averaging"}) {
      const json& of_part = record.at(part);
      place.push_back(of_part.is_null()              ? ""
                      : of_part.contains("revision") ? of_part.at("revision").dump()
                                                     : of_part.at("id").dump());
    }
    place.push_back(record.at("quantizer").dump());
    if (record.at("value").is_number()) {
      out[place] = record.at("value").get<double>();
    }
  }
  return out;
}

std::string kind_of(const std::vector<std::string>& place) {
  return place[0] + " " + place[1];
}

double jump_of(const std::vector<std::string>& place) {
  return place[0] == "sharpness/critical" ? 0.03 : 0.0;
}

std::map<std::string, double> largest_of(const Values& values) {
  std::map<std::string, double> out;
  for (const auto& [place, value] : values) {
    double& most = out[kind_of(place)];
    most = std::max(most, std::fabs(value));
  }
  return out;
}

}  // namespace quench::test
