// A run and a store that quench 0.1.0 wrote, when keys had other parts (tests/data/earlier_store):
// listed and shown, never taken for values of now.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

constexpr size_t kCells = 9;  // (2 checkpoints + 1 average) × (float + 2 quantizers)

class EarlierStudy {
 public:
  EarlierStudy() {
    const fs::path data = quench::test::source_dir() / "tests/data/earlier_store";
    fs::create_directories(here.folder() / "models");
    for (const char* step : {"models/step1", "models/step2"}) {
      fs::copy(here.folder() / "tiny", here.folder() / step, fs::copy_options::recursive);
    }
    fs::copy(data / "m.yaml", here.folder() / "m.yaml");
    fs::create_directories(here.folder() / "runs");
    fs::copy(data / "run", here.folder() / "runs/m", fs::copy_options::recursive);
    fs::copy(data / "records", here.folder() / "home/records", fs::copy_options::recursive);
  }

  // The values as the files have them, by key and cell.
  std::vector<json> stored() const {
    std::vector<json> out;
    for (const auto& entry : fs::directory_iterator(here.folder() / "runs/m")) {
      if (entry.path().extension() == ".jsonl") {
        std::istringstream lines(quench::test::read_file(entry.path()));
        for (std::string line; std::getline(lines, line);) {
          out.push_back(json::parse(line).at("record"));
        }
        break;
      }
    }
    return out;
  }

  const Workplace here;
};

}  // namespace

TEST_CASE("earlier store: its values are listed as they are", "[cli][keys]") {
  const EarlierStudy study;
  const Outcome got = study.here.run({"results", "runs/m", "--json"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  std::multiset<double> shown;
  size_t derived = 0;
  const json document = quench::test::data_of(got.out);
  for (const json& record : document.at("records")) {
    if (record.at("metric") == "validation_loss") {
      shown.insert(record.at("value").get<double>());
    } else {
      ++derived;
    }
  }
  std::multiset<double> wanted;
  for (const json& record : study.stored()) {
    CHECK(record.at("parts").at("host") == 1);
    wanted.insert(record.at("value").get<double>());
  }
  CHECK(wanted.size() == kCells);
  CHECK(shown == wanted);
  CHECK(derived == 6);
}

TEST_CASE("earlier store: it verifies, and its report is drawn", "[cli][keys]") {
  const EarlierStudy study;
  const Outcome verified = study.here.run({"verify", "runs/m"});
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
  const Outcome report = study.here.run({"report", "runs/m"});
  INFO(report.err);
  CHECK(report.code == 0);
  CHECK(fs::file_size(study.here.folder() / "runs/m/report.html") > 10000);
}

TEST_CASE("earlier store: none of its values is reused, and the plan says why", "[cli][keys]") {
  const EarlierStudy study;
  // Which family opens the config is asked when a model is first opened; here it is named.
  const std::string family = "checkpoints.family=template_model";
  const Outcome plan = study.here.run({"plan", "m.yaml", "--json", "--set", family});
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  const json read = quench::test::data_of(plan.out);
  CHECK(read.at("counts") == json{{"to do", kCells}});
  for (const json& cell : read.at("cells")) {
    CHECK(cell.at("reason") == "measured by an earlier version, whose keys say less");
  }
  const Outcome why = study.here.run({"why", "m.yaml", "step1, float", "--set", family});
  CHECK(why.code == 0);
  CHECK_THAT(why.out, Catch::Contains("an earlier version's, whose key had other parts"));
}

TEST_CASE("earlier store: a new run stands beside it, and its own values count", "[cli][keys]") {
  const EarlierStudy study;
  const std::vector<json> before = study.stored();
  const Outcome ran = study.here.run({"run", "m.yaml"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK_THAT(ran.out, Catch::Contains("9 records, "));
  const json records =
      quench::test::data_of(study.here.run({"results", "runs/m", "--json"}).out).at("records");
  size_t values = 0;
  for (const json& record : records) {
    if (record.at("metric") == "validation_loss") {
      ++values;
      CHECK(record.at("parts").at("host").is_object());
    }
  }
  CHECK(values == kCells);
  CHECK(study.here.run({"verify", "runs/m"}).code == 0);
}
