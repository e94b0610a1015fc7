#include <yaml-cpp/yaml.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/config/yaml.hpp"
#include "tests/layering/source_tree.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/temporary.hpp"

namespace {

struct Outcome {
  int status;
  std::string output;  // of both streams
};

Outcome quench_program(const std::string& arguments, const std::string& environment = "") {
  const quench::test::TemporaryDir temporary;
  const std::string log = temporary / "log";
  const int status = std::system(
      (environment + " " + QUENCH_PROGRAM + " " + arguments + " < /dev/null > " + log + " 2>&1")
          .c_str());
  return {status, quench::test::read_file(log)};
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
    const Outcome plan = quench_program("plan " + (quench::test::source_dir() / file).string(),
                                        "HF_HUB_CACHE=" + temporary.path().string());
    CAPTURE(file, plan.output);
    CHECK(plan.status == 0);
    CHECK(plan.output.find(" blocked\n") != std::string::npos);
    CHECK(plan.output.find("to do") == std::string::npos);
  }
}

// Weights and corpora may be absent where tests run, so a plan may fail over that, and only that.
TEST_CASE("configs: the host understands every manifest", "[layering][configs]") {
  for (const std::string& file : quench::test::files_below("configs", {".yaml"})) {
    if (file.starts_with("configs/presets/")) {
      continue;
    }
    const Outcome plan = quench_program("plan " + (quench::test::source_dir() / file).string());
    std::istringstream lines(plan.output);
    for (std::string line; std::getline(lines, line);) {
      const bool complaint = line.find(file + ":") != std::string::npos;
      CAPTURE(line);
      CHECK((!complaint || line.find("is not there") != std::string::npos));
    }
  }
}

TEST_CASE("configs: the schema for editors accepts every file", "[layering][configs]") {
  const Outcome schema = quench_program("schema");
  REQUIRE(schema.status == 0);
  for (const std::string& file : quench::test::files_below("configs", {".yaml"})) {
    if (!file.starts_with("configs/presets/")) {
      CAPTURE(file);
      const auto manifest =
          quench::yaml_to_json(quench::load_yaml(quench::test::source_dir() / file));
      CHECK(quench::test::schema_complaints(nlohmann::json::parse(schema.output), manifest) == "");
    }
  }
}

TEST_CASE("configs: the host complains about a manifest with an unknown key",
          "[layering][configs]") {
  const quench::test::TemporaryDir temporary;
  const auto file = temporary.write("wrong.yaml", "name: wrong\nmetrix: []\n");
  const Outcome plan = quench_program("plan " + file.string());
  CAPTURE(plan.output);
  CHECK(plan.status != 0);
  CHECK(plan.output.find("wrong.yaml:2") != std::string::npos);
}
