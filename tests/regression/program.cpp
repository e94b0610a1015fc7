#include "tests/regression/program.hpp"

#include <catch2/catch.hpp>

#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace fs = std::filesystem;

Finished run_quench(const std::vector<std::string>& arguments, const Environment& environment,
                    const std::string& input) {
  std::vector<std::string> command = {(binary_dir() / "bin" / "quench").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::string home = (binary_dir() / "tests/regression_home").string();
  Environment all = {{"HOME", home}, {"QUENCH_HOME", home}};
  for (const auto& [name, value] : environment) {
    all[name] = value;
  }
  return run_program(command, all, "", input);
}

nlohmann::json quench_json(std::vector<std::string> arguments, const Environment& environment) {
  arguments.push_back("--json");
  const Finished finished = run_quench(arguments, environment);
  INFO(finished.err);
  REQUIRE(finished.code == 0);
  return data_of(finished.out);
}

void make_home(const fs::path& folder) {
  fs::create_directory(folder);
  const fs::path probes = binary_dir() / "tests/regression_home/plugins.json";
  if (fs::exists(probes)) {
    fs::copy(probes, folder / "plugins.json");
  }
}

nlohmann::json run_manifest(const std::string& yaml, std::vector<std::string> arguments,
                            const Environment& environment) {
  const TemporaryDir folder;
  const fs::path manifest = folder.write("manifest.yaml", yaml);
  arguments.insert(arguments.begin(),
                   {"run", manifest.string(), "--out", (folder / "results").string()});
  // A store of its own: a record of an earlier build would answer for this one.
  const fs::path home = folder / "home";
  make_home(home);
  Environment all = environment;
  all.emplace("QUENCH_HOME", home.string());
  all.emplace("QUENCH_PYTHON", "/no/python3");  // no page: it takes longer than a small run
  return quench_json(std::move(arguments), all);
}

std::vector<nlohmann::json> records_of(const nlohmann::json& document, const std::string& metric) {
  std::vector<nlohmann::json> out;
  for (const nlohmann::json& record : document.at("records")) {
    if (record.at("metric") == metric) {
      out.push_back(record);
    }
  }
  return out;
}

fs::path template_plugins() {
  return binary_dir() / "template";
}
fs::path test_plugins() {
  return binary_dir() / "tests" / "regression_plugins";
}

}  // namespace quench::test
