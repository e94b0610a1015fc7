#include <yaml-cpp/yaml.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/config/yaml.hpp"
#include "tests/layering/source_tree.hpp"
#include "tests/support/answer.hpp"
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
      const std::string command = file.starts_with("configs/experiments/") ? "# quench run "
                                  : file == "configs/watch.yaml" ? "# quench watch DIR --manifest "
                                                                 : "# ./dev run ";
      CHECK(quench::test::source(file).starts_with(command + file));
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

// What `plan --shapes` prints; the cache is empty.
quench::test::Ended costs_of(const std::string& manifest, const std::vector<std::string>& more) {
  const quench::test::TemporaryDir temporary;
  std::vector<std::string> arguments = {"plan", manifest, "--shapes", "configs/models"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return quench_program(arguments, {{"HF_HUB_CACHE", temporary.path().string()}});
}

TEST_CASE("configs: the costs at the head of an experiment on published models are plan's",
          "[layering][configs]") {
  size_t checked = 0;
  for (const std::string& file : quench::test::files_below("configs/experiments", {".yaml"})) {
    const std::string text = quench::test::source(file);
    if (text.find("model: hf://") == std::string::npos) {
      continue;
    }
    const auto costs = costs_of(file, {});
    CAPTURE(file, costs.err);
    REQUIRE(costs.code == 0);
    std::string head;
    std::istringstream lines(costs.out);
    for (std::string line; std::getline(lines, line);) {
      head += "# " + line + "\n";
    }
    CAPTURE(head, "tools/experiment_costs writes them");
    CHECK(text.find("\n" + head + "name: ") != std::string::npos);
    ++checked;
  }
  CHECK(checked >= 15);
}

TEST_CASE("configs: the shapes of published models have as many parameters as published",
          "[layering][configs]") {
  // Worked out by hand: embeddings, matrices and biases of the blocks, norms.
  const std::map<std::string, uint64_t> published = {
      {"EleutherAI/pythia-70m", 70'426'624},
      {"EleutherAI/pythia-160m", 162'322'944},
      {"EleutherAI/pythia-410m", 405'334'016},
      {"EleutherAI/pythia-1b", 1'011'781'632},
      {"EleutherAI/pythia-1.4b", 1'414'647'808},
      {"EleutherAI/pythia-2.8b", 2'775'208'960},
      {"EleutherAI/pythia-6.9b", 6'857'302'016},
      {"EleutherAI/pythia-12b", 11'846'072'320},
      {"allenai/OLMo-1B", 1'176'764'416},
      {"allenai/OLMo-7B", 6'888'095'744},
      {"allenai/OLMo-2-0425-1B", 1'484'916'736},
      {"allenai/OLMo-2-1124-7B", 7'298'617'344},
      {"allenai/OLMo-2-1124-13B", 13'716'198'400},
      {"allenai/OLMo-2-0325-32B", 32'234'279'936},
      {"HuggingFaceTB/SmolLM3-3B", 3'075'098'624},
      {"HuggingFaceTB/SmolLM3-3B-Base", 3'075'098'624},
      {"HuggingFaceTB/SmolLM3-3B-checkpoints", 3'075'098'624},
      {"LLM360/Amber", 6'738'415'616},
      {"swiss-ai/Apertus-8B-2509", 8'053'338'176},
      {"state-spaces/mamba-130m-hf", 129'135'360},
      {"state-spaces/mamba-2.8b-hf", 2'768'345'600}};
  const std::string root = "configs/models/";
  size_t checked = 0;
  for (const std::string& file : quench::test::files_below("configs/models", {".json"})) {
    const std::string name = file.substr(root.size(), file.size() - root.size() - 5);
    const auto known = published.find(name);
    if (known == published.end()) {
      continue;
    }
    const quench::test::TemporaryDir temporary;
    const auto manifest =
        temporary.write("m.yaml", "checkpoints: {model: hf://" + name +
                                      ", revisions: [main]}\nmetrics: [weights: {}]\n");
    const auto costs = costs_of(manifest.string(), {"--json"});
    CAPTURE(file, costs.err);
    REQUIRE(costs.code == 0);
    const auto config = nlohmann::json::parse(quench::test::source(file));
    const uint64_t element = config.at("torch_dtype") == "float32" ? 4 : 2;
    CHECK(quench::test::data_of(costs.out).at("download_bytes") == known->second * element);
    ++checked;
  }
  CHECK(checked == published.size());
}

TEST_CASE("configs: costs from shapes are those that a hand works out", "[layering][configs]") {
  const quench::test::TemporaryDir temporary;
  const auto manifest = temporary.write(
      "m.yaml",
      "dtype: bfloat16\n"
      "checkpoints: {model: hf://EleutherAI/pythia-70m, revisions: [step1, step2]}\n"
      "calibration: {c: {corpus: t, documents: 10, packing: none, pads: counted, pad_id: 0, "
      "pad_batch: 16}}\n"
      "quantizers: [rtn: {}]\n"
      "metrics: [validation_loss: {corpus: t}]\n"
      "corpora: {t: {jsonl: {path: hf://datasets/org/name/t.jsonl}}}\n");
  const auto without = costs_of(manifest.string(), {"--json"});
  CAPTURE(without.err);
  REQUIRE(without.code == 0);
  const auto plain = quench::test::data_of(without.out);
  const double parameters = 70426624;
  CHECK(plain.at("revisions") == 2);
  CHECK(plain.at("download_bytes") == 2 * 2 * 70426624ull);
  // Two revisions, in float and quantized, 600 thousand ids, two operations each.
  CHECK(plain.at("flops").get<double>() == Approx(2 * 2 * 2 * parameters * 6e5));
  const auto with = quench::test::data_of(
      costs_of(manifest.string(), {"--json", "--set", "quantizers.0.calibration=c"}).out);
  // 10 documents of 512, padded to 1 + 1.2 ln 16 = 4.327 times that; 3.2 operations with Gram's.
  CHECK(with.at("flops").get<double>() - plain.at("flops").get<double>() ==
        Approx(2 * 3.2 * parameters * 10 * 512 * 4.327).epsilon(1e-3));
  const auto missing = costs_of(manifest.string(), {"--set", "checkpoints.model=hf://org/other"});
  CHECK(missing.code == 2);
  CHECK(missing.err ==
        "--shapes: hf://org/other has no config; wanted configs/models/org/other.json\n");
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
          quench::yaml_to_json(quench::parse_yaml(quench::test::source(file), file));
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
