#include "tests/contract/device.hpp"

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

}  // namespace quench::test
