// Multiple-choice tasks against what lm-eval 0.4.13 makes of the same model and data.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "tests/regression/program.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// Of a log-likelihood, between two float32 forwards of different shapes.
constexpr double kTolerance = 2e-4;

const std::string kSmallTasks =
    "arc_challenge+arc_easy+commonsense_qa+mmlu_abstract_algebra+mmlu_anatomy+"
    "mmlu_high_school_us_history+mmlu_world_religions+openbookqa+piqa+pubmedqa+sciq+social_iqa+"
    "winogrande";

std::vector<nlohmann::json> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<nlohmann::json> out;
  for (std::string line; std::getline(file, line);) {
    out.push_back(nlohmann::json::parse(line));
  }
  return out;
}

nlohmann::json measured(const std::filesystem::path& model, const std::filesystem::path& data,
                        const std::string& rest, const std::string& tasks = kSmallTasks,
                        const std::string& threads = "2") {
  return quench_json({"eval", model.string(), "--threads", threads, "--metric",
                      "tasks:tasks=" + tasks + ",data=" + data.string() + "," + rest})
      .at("records");
}

void check_against_reference(const std::string& shots) {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto golden = fixture("tasks/fix-neox-traj-step1200-" + shots + "shot.jsonl");
  const auto data = public_data("tasks");
  const TemporaryDir folder;
  const auto log = folder.path() / "log.jsonl";
  const nlohmann::json records =
      measured(model, data, "shots=" + shots + ",limit=50,max_length=256,log=" + log.string());
  const std::vector<nlohmann::json> expected = lines_of(golden);
  const std::vector<nlohmann::json> found = lines_of(log);
  REQUIRE(expected.size() == 650);
  REQUIRE(found.size() == expected.size());
  double largest = 0;
  size_t wrong_texts = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    REQUIRE("local_" + found[i].at("task").get<std::string>() == expected[i].at("task"));
    REQUIRE(found[i].at("doc_id") == expected[i].at("doc_id"));
    REQUIRE(found[i].at("requests").size() == expected[i].at("requests").size());
    for (size_t r = 0; r < expected[i].at("requests").size(); ++r) {
      const nlohmann::json& a = expected[i]["requests"][r];
      const nlohmann::json& b = found[i]["requests"][r];
      const bool same =
          a.at("context") == b.at("context") && a.at("continuation") == b.at("continuation");
      wrong_texts += same ? 0 : 1;
      largest = std::max(largest, std::abs(a.at("ll").get<double>() - b.at("ll").get<double>()));
    }
    CHECK(found[i].at("acc") == expected[i].at("acc"));
    CHECK(found[i].at("acc_norm") == expected[i].at("acc_norm"));
  }
  CHECK(wrong_texts == 0);
  CHECK(largest <= kTolerance);
  const nlohmann::json totals =
      nlohmann::json::parse(
          read_file(fixture("tasks/fix-neox-traj-step1200-" + shots + "shot-result.json")))
          .at("results");
  CHECK(records.at(0).at("metric") == "tasks");
  const nlohmann::json& details = records.at(0).at("details");
  CHECK(details.at("requests") == 2350);
  for (const auto& [name, task] : details.at("tasks").items()) {
    CAPTURE(name);
    const nlohmann::json& total = totals.at("local_" + name);
    CHECK(task.at("acc").get<double>() == Approx(total.at("acc,none").get<double>()));
    if (task.contains("acc_norm")) {
      CHECK(task.at("acc_norm").get<double>() == Approx(total.at("acc_norm,none").get<double>()));
    }
  }
}

}  // namespace

TEST_CASE("tasks: prompts, log-likelihoods and accuracies without shots are the reference's",
          "[regression][tasks]") {
  check_against_reference("0");
}

TEST_CASE("tasks: prompts, log-likelihoods and accuracies with five shots are the reference's",
          "[regression][tasks]") {
  check_against_reference("5");
}

TEST_CASE("tasks: one thread and two give the same bits", "[regression][tasks]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto data = public_data("tasks");
  const TemporaryDir folder;
  std::vector<std::string> logs;
  for (const char* threads : {"1", "2"}) {
    const auto log = folder.path() / threads;
    measured(model, data, "limit=20,shots=1,log=" + log.string(), "sciq+mmlu_anatomy", threads);
    logs.push_back(read_file(log));
  }
  CHECK(logs[0].size() > 1000);
  CHECK(differences(logs[0], logs[1]) == "");
}

TEST_CASE("tasks: a task of one's own is a file in a folder", "[regression][tasks]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const TemporaryDir folder;
  folder.write("mine/one.yaml", R"(
task: capitals
data: {paths: [capitals]}
splits: [test]
shots: {splits: [test]}
prompt: "The capital of {{country}} is"
choices: "{{cities}}"
answer: "{{0}}"
scores: [acc, acc_norm]
)");
  std::string records;
  for (const char* country : {"France", "Spain", "Italy"}) {
    records += std::string(R"({"country": ")") + country +
               R"(", "cities": ["Paris", "Rome of old"]})" + "\n";
  }
  folder.write("data/capitals/test.jsonl", records);
  const auto log = folder.path() / "log";
  const nlohmann::json found = measured(
      model, folder.path() / "data",
      "shots=1,files=" + (folder.path() / "mine").string() + ",log=" + log.string(), "capitals");
  CHECK(found.at(0).at("details").at("tasks").at("capitals").at("n") == 3);
  CHECK(found.at(0).at("details").at("tasks").at("capitals").at("chance") == 0.5);
  const std::vector<nlohmann::json> lines = lines_of(log);
  REQUIRE(lines.size() == 3);
  for (const nlohmann::json& line : lines) {
    const auto context = line.at("requests").at(0).at("context").get<std::string>();
    CHECK_THAT(context, Catch::Contains("Paris\n\nThe capital of "));
  }
}

TEST_CASE("tasks: what is asked for and not there is said before any work", "[regression][tasks]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto complaint = [&](const std::string& spec) {
    const Finished ended = run_quench({"eval", model.string(), "--metric", "tasks:" + spec});
    CHECK(ended.code == 2);
    return ended.err;
  };
  CHECK_THAT(complaint("tasks=sciqq,data=/nowhere"),
             Catch::Contains("metric tasks: no task `sciqq`; there are arc_challenge, "));
  CHECK_THAT(complaint("tasks=sciq,data=/nowhere"),
             Catch::Contains("task sciq: no split test, validation below /nowhere/sciq/none"));
  CHECK_THAT(complaint("tasks=sciq+sciq,data=/nowhere"),
             Catch::Contains("task sciq is requested twice"));
}

}  // namespace quench::test
