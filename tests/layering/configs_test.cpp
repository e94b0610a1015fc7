#include <yaml-cpp/yaml.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/config/yaml.hpp"
#include "tests/layering/source_tree.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace {

quench::test::Ended quench_program(const std::vector<std::string>& arguments,
                                   const quench::test::Environment& more = {}) {
  std::vector<std::string> command = {QUENCH_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::filesystem::path home = quench::test::binary_dir() / "tests/quench-home";
  quench::test::Environment environment = {{"QUENCH_HOME", home.string()}};
  environment.insert(more.begin(), more.end());
  return quench::test::run_program(command, environment, quench::test::source_dir());
}

}  // namespace

TEST_CASE("configs: every file is YAML with the sections of a manifest", "[layering][configs]") {
  for (const std::string& file : quench::test::files_below("configs", {".yaml"})) {
    if (file.starts_with("configs/presets/")) {
      continue;
    }
    CAPTURE(file);
    const YAML::Node manifest = YAML::LoadFile(quench::test::source_dir() / file);
    REQUIRE(manifest.IsMap());
    for (const char* section : {"name", "checkpoints", "metrics"}) {
      CAPTURE(section);
      CHECK(manifest[section]);
    }
  }
}

TEST_CASE("configs: every file's first line is the command that runs it", "[layering][configs]") {
  for (const std::string& file : quench::test::files_below("configs", {".yaml"})) {
    if (!file.starts_with("configs/presets/")) {
      CAPTURE(file);
      const bool experiment = file.starts_with("configs/experiments/");
      CHECK(quench::test::source(file).starts_with((experiment ? "# quench run " : "# ./dev run ") +
                                                   file));
    }
  }
}

TEST_CASE("configs: every experiment says what it downloads and how long it takes",
          "[layering][configs]") {
  for (const std::string& file : quench::test::files_below("configs/experiments", {".yaml"})) {
    CAPTURE(file);
    const std::string text = quench::test::source(file);
    CHECK(text.find("\n# Downloads: ") != std::string::npos);
    CHECK(text.find("\n# Time: ") != std::string::npos);
  }
}

TEST_CASE("configs: experiments on published models are planned with an empty cache, all blocked",
          "[layering][configs]") {
  const quench::test::TemporaryDir temporary;
  for (const std::string& file : quench::test::files_below("configs/experiments", {".yaml"})) {
    if (quench::test::source(file).find("model: hf://") == std::string::npos) {
      continue;
    }
    const auto plan = quench_program({"plan", file}, {{"HF_HUB_CACHE", temporary.path().string()}});
    CAPTURE(file, plan.out, plan.err);
    CHECK(plan.code == 0);
    CHECK(plan.out.find(" blocked\n") != std::string::npos);
    CHECK(plan.out.find("to do") == std::string::npos);
  }
}

// Weights and corpora may be absent where tests run, so a plan may fail over that, and only that.
TEST_CASE("configs: the host understands every manifest", "[layering][configs]") {
  for (const std::string& file : quench::test::files_below("configs", {".yaml"})) {
    if (file.starts_with("configs/presets/")) {
      continue;
    }
    const auto plan = quench_program({"plan", file});
    size_t absent = 0;
    std::istringstream lines(plan.err);
    for (std::string line; std::getline(lines, line);) {
      const bool excused = line.find("does not exist") != std::string::npos;
      absent += excused ? 1 : 0;
      CAPTURE(line);
      CHECK((excused || line.find(file + ":") == std::string::npos));
    }
    CAPTURE(file, plan.err);
    CHECK((plan.code == 0 || (plan.code == 2 && absent > 0)));
  }
}

TEST_CASE("configs: the schema for editors accepts every file", "[layering][configs]") {
  const auto schema = quench_program({"schema"});
  REQUIRE(schema.code == 0);
  for (const std::string& file : quench::test::files_below("configs", {".yaml"})) {
    if (!file.starts_with("configs/presets/")) {
      CAPTURE(file);
      const auto manifest =
          quench::yaml_to_json(quench::load_yaml(quench::test::source_dir() / file));
      CHECK(quench::test::schema_complaints(nlohmann::json::parse(schema.out), manifest) == "");
    }
  }
}

TEST_CASE("configs: the host complains about a manifest with an unknown key",
          "[layering][configs]") {
  const quench::test::TemporaryDir temporary;
  const auto file = temporary.write("wrong.yaml", "name: wrong\nmetrix: []\n");
  const auto plan = quench_program({"plan", file.string()});
  CAPTURE(plan.err);
  CHECK(plan.code != 0);
  CHECK(plan.err.find("wrong.yaml:2") != std::string::npos);
}
