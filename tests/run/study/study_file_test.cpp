// The jobs of the study's files against what a few lines of Python enumerate (tests/data/study).
#include "run/study/study_file.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/io/file.hpp"
#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::is_study_file;
using quench::parse_yaml;
using quench::StudyFile;
using quench::YamlNode;

namespace {

const fs::path kData = quench::test::source_dir() / "tests/data/study";

nlohmann::json table(const std::string& name) {
  return nlohmann::json::parse(quench::read_file(kData / name, 1 << 24));
}

// Text as in the file, which needs no opinion on what a number or a truth value is.
nlohmann::json as_text(const YamlNode& value) {
  if (!value.is_sequence()) {
    return value.scalar;
  }
  nlohmann::json out = nlohmann::json::array();
  for (const YamlNode& item : value.items) {
    out.push_back(as_text(item));
  }
  return out;
}

nlohmann::json settings_as_text(const StudyFile& file, size_t job) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [key, value] : file.settings(job)) {
    out[key] = as_text(*value);
  }
  return out;
}

const std::string kSound =
    "repo_origin: org/tiny\nrevision: [step1, step2]\nq_bits: [4, 3]\ngroup_size: 128\n"
    "calibration_batch_size: 16\nblock_size: 2048\ndataset_path: /data\ngptq: True\n";

// What is wrong with the sound file when `before` is `after` in it; "" when nothing is.
std::string refusal(const std::string& before, const std::string& after) {
  std::string text = kSound;
  if (const size_t at = text.find(before); at != std::string::npos) {
    text.replace(at, before.size(), after);
  }
  const YamlNode root = parse_yaml(text, "s.yaml");
  return quench::test::message_of([&] { StudyFile{root}; });
}

}  // namespace

TEST_CASE("study: each job of a file has the settings that a product of its lists gives",
          "[study]") {
  const nlohmann::json wanted = table("jobs.json");
  for (const auto& [name, jobs] : wanted.items()) {
    const StudyFile file(quench::load_yaml(kData / name));
    CAPTURE(name);
    REQUIRE(file.jobs() == jobs.size());
    for (size_t job = 0; job < jobs.size(); ++job) {
      CAPTURE(job);
      CHECK(settings_as_text(file, job) == jobs[job]);
    }
  }
  CHECK(wanted.size() == 3);
}

TEST_CASE("study: all jobs of the study's own files are those that the table has", "[study]") {
  size_t jobs_in_all = 0;
  const nlohmann::json wanted = table("jobs_of_study.json");
  for (const auto& [name, entry] : wanted.items()) {
    const StudyFile file(quench::load_yaml(quench::test::study_config(name)));
    CAPTURE(name);
    REQUIRE(file.jobs() == entry[0].get<size_t>());
    std::string lines;
    for (size_t job = 0; job < file.jobs(); ++job) {
      lines += quench::canonical_json(settings_as_text(file, job)) + "\n";
    }
    CHECK(quench::sha256_hex(lines) == entry[1].get<std::string>());
    jobs_in_all += name.starts_with("gptq/") ? file.jobs() : 0;
  }
  CHECK(wanted.size() == 16);
  CHECK(jobs_in_all == 652);
}

TEST_CASE("study: the example of docs/import.md numbers its jobs as the page says", "[study]") {
  const std::string page =
      quench::read_file(quench::test::source_dir() / "docs/import.md", 1 << 20);
  const std::string fence = "```yaml\n";
  const size_t begin = page.find(fence) + fence.size();
  const std::string example = page.substr(begin, page.find("```", begin) - begin);
  const std::string rest = kSound.substr(kSound.find("group_size"));
  const StudyFile file(parse_yaml("repo_origin: org/tiny\n" + example + rest, "s.yaml"));
  CHECK(file.jobs() == 4);
  const std::pair<std::string, int> wanted[] = {
      {"stage1-step10000-tokens21B", 4}, {"main", 4}, {"stage1-step10000-tokens21B", 3}};
  for (size_t job = 0; job < 3; ++job) {
    CHECK(file.job(job).checkpoints.front().revision == wanted[job].first);
    CHECK(file.job(job).quantizer.at("bits") == wanted[job].second);
  }
}

TEST_CASE("study: a manifest is no file of the study", "[study]") {
  CHECK(is_study_file(parse_yaml(kSound, "s.yaml")));
  CHECK_FALSE(is_study_file(parse_yaml(kSound + "checkpoints: {}\n", "s.yaml")));
  CHECK_FALSE(is_study_file(parse_yaml("name: a\nmetrics: []\n", "s.yaml")));
  CHECK_FALSE(is_study_file(parse_yaml("[repo_origin, q_bits]", "s.yaml")));
}

TEST_CASE("study: what no manifest can express is refused with its place", "[study]") {
  const std::string is = "study file: ";
  const std::pair<std::pair<std::string, std::string>, std::string> cases[] = {
      {{"gptq: True", "gptq: True\nq_bit: 4"},
       "s.yaml:9:1: " + is + "unknown key `q_bit`; did you mean `q_bits`?"},
      {{"group_size: 128\n", ""}, "s.yaml:1:1: " + is + "`group_size` is missing"},
      {{"[4, 3]", "[]"},
       "s.yaml:3:9: " + is + "`q_bits`: got an empty list, so that there is no job"},
      {{"[4, 3]", "[4, four]"},
       "s.yaml:3:13: " + is +
           "`q_bits`: got the text \"four\", wanted a whole number, 1..16777216"},
      {{"2048", "[2048, 4096]"},
       "s.yaml:6:13: " + is +
           "`block_size`: got a list of 2, wanted one value: no grid has them side by side"},
      {{"gptq: True", "gptq: False"},
       "s.yaml:8:7: " + is +
           "`gptq`: got the text \"False\", wanted true: the study's code "
           "quantizes with this method alone"},
      {{"gptq: True", "gptq: True\nbnb: yes"},
       "s.yaml:9:6: " + is +
           "`bnb`: got the text \"yes\", wanted false: the study's code has no other method here"},
      {{"[step1, step2]", "[[step1, step2]]"},
       "s.yaml:2:12: " + is +
           "`revision`: got a list, wanted the name of a revision (only a file with `L` averages "
           "lists of them)"},
      {{"[step1, step2]", "[[step1, step2]]\nL: [2, 3]"},
       "s.yaml:3:8: " + is + "`L`: got 3, more than the 2 revisions of the list"},
      {{"[step1, step2]", "[step1]\nL: 1"},
       "s.yaml:2:12: " + is +
           "`revision`: got the text \"step1\", wanted a list of revisions, of which `L` are "
           "averaged"}};
  for (const auto& [change, wanted] : cases) {
    CAPTURE(change.second);
    CHECK(refusal(change.first, change.second) == wanted);
  }
  CHECK(refusal("gptq: True", "gptq: on\nawq: off").empty());
  CHECK(refusal("128", "-1").empty());
}
