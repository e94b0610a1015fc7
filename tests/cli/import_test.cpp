// quench import, and files of the study's code in place of a manifest.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

// The template checkpoint as two revisions of hf://org/tiny in a cache that the program finds.
class CachedTiny {
 public:
  CachedTiny() {
    const fs::path root = here.folder() / "hub/models--org--tiny";
    fs::create_directories(root / "refs");
    const std::pair<std::string, std::string> revisions[] = {{"step10", std::string(40, 'a')},
                                                             {"step20", std::string(40, 'b')}};
    for (const auto& [name, commit] : revisions) {
      here.folder().write("hub/models--org--tiny/refs/" + name, commit);
      fs::create_directories(root / "snapshots");
      fs::copy(here.folder() / "tiny", root / "snapshots" / commit, fs::copy_options::recursive);
    }
    here.folder().write("study.yaml",
                        "q_bits: [4, 3]\nrepo_origin: org/tiny\nrevision: [step10, step20]\n"
                        "group_size: 16\ncalibration_batch_size: 2\nblock_size: 16\n"
                        "dataset_path: /not/here\ngptq: True\nwandb_run_name: tiny\n");
  }

  Outcome run(Workplace::Arguments arguments) const {
    // The study's texts are not here: a short one in their place.
    for (const char* set :
         {"corpora.c4={text: {path: t.txt}}", "corpora.refinedweb={text: {path: t.txt}}",
          "calibration.c4={corpus: c4, length: 16, sequences: 4}", "dtype=float32"}) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    quench::Command command = here.command(arguments);
    command.environment->push_back("HF_HUB_CACHE=" + (here.folder() / "hub").string());
    quench::ChildProcess process = quench::ChildProcess::start(command);
    return here.wait(process);
  }

  Workplace here;  // the study's files are read in Python
};

// Names and keys of the cells of a plan.
std::set<std::pair<std::string, std::string>> cells_in(const Outcome& plan) {
  CAPTURE(plan.err);
  REQUIRE(plan.code == 0);
  std::set<std::pair<std::string, std::string>> out;
  const nlohmann::json document = quench::test::data_of(plan.out);
  for (const auto& cell : document.at("cells")) {
    out.emplace(cell.at("cell").get<std::string>(), cell.at("key").dump());
  }
  return out;
}

// Revisions and keys of the measured records, with their values.
std::set<std::pair<std::string, std::string>> records_in(const Outcome& run) {
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  std::set<std::pair<std::string, std::string>> out;
  const nlohmann::json document = quench::test::data_of(run.out);
  for (const auto& record : document.at("records")) {
    const auto key = record.at("key").get<std::string>();
    if (!key.empty()) {  // not derived from others
      out.emplace(record.at("checkpoint").at("revision").get<std::string>() + " " + key,
                  record.at("value").dump());
    }
  }
  return out;
}

std::string data(const std::string& name) {
  return (quench::test::source_dir() / "tests/data/study" / name).string();
}

}  // namespace

TEST_CASE("import: the manifest that it writes is what the file itself plans", "[cli]") {
  const CachedTiny scene;
  const Outcome got = scene.here.run({"import", "study.yaml", "-o", "m.yaml"});
  CHECK(got.out == "wrote m.yaml, 4 jobs; look at it with: quench plan m.yaml\n");
  CHECK(scene.here.run({"import", "study.yaml"}).out ==
        quench::test::read_file(scene.here.folder() / "m.yaml"));
  const auto cells = cells_in(scene.run({"plan", "m.yaml", "--json"}));
  CHECK(cells.size() == 6);  // two revisions, each in float and with 4 and 3 bits
  CHECK(cells_in(scene.run({"plan", "study.yaml", "--json"})) == cells);
}

TEST_CASE("import: it replaces no file and takes no manifest", "[cli]") {
  const Workplace here(Page::kNone);
  const Outcome again = here.run({"import", data("sweep.yaml"), "-o", "t.txt"});
  CHECK(again.code == 2);
  CHECK(again.err == "t.txt: already exists; name another file with -o\n");
  here.folder().write("m.yaml", "name: a\ncheckpoints: {model: tiny}\nmetrics: []\n");
  const Outcome manifest = here.run({"import", "m.yaml"});
  CHECK(manifest.code == 2);
  CHECK_THAT(manifest.err, Catch::StartsWith("m.yaml: got other keys, wanted a file of the study"));
  here.folder().write("s.yaml", "repo_origin: a/b\nq_bits: 4\nlearning_rate: 3\n");
  const Outcome unknown = here.run({"plan", "s.yaml"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Catch::Contains("s.yaml:3:1: study file: unknown key `learning_rate`"));
}

TEST_CASE("study: --job_idx plans and lists the cells of one job", "[cli]") {
  const CachedTiny scene;
  const auto whole = cells_in(scene.run({"plan", "study.yaml", "--json"}));
  std::set<std::pair<std::string, std::string>> all;
  for (const char* job : {"0", "1", "2", "3"}) {
    const auto cells = cells_in(scene.run({"plan", "study.yaml", "--json", "--job_idx", job}));
    CHECK(cells.size() == 2);
    CHECK(std::includes(whole.begin(), whole.end(), cells.begin(), cells.end()));
    all.insert(cells.begin(), cells.end());
  }
  CHECK(all == whole);
  const Outcome jobs = scene.run({"plan", "study.yaml", "--jobs"});
  CHECK(jobs.out ==
        "job  cells  point\n"
        "0    2      {\"q_bits\":4,\"revision\":\"step10\"}\n"
        "1    2      {\"q_bits\":4,\"revision\":\"step20\"}\n"
        "2    2      {\"q_bits\":3,\"revision\":\"step10\"}\n"
        "3    2      {\"q_bits\":3,\"revision\":\"step20\"}\n");
  const Outcome beyond = scene.run({"plan", "study.yaml", "--job_idx", "4"});
  CHECK(beyond.code == 2);
  CHECK(beyond.err == "--job: got 4, wanted one of the 4 jobs, 0..3\n");
}

TEST_CASE("study: jobs that run one after the other leave the records of the whole file", "[cli]") {
  quench::test::need_plugin("quantizers/gptq");
  const CachedTiny apart;
  for (const char* job : {"2", "0", "3", "1"}) {
    CHECK(records_in(apart.run({"run", "study.yaml", "--json", "--job_idx", job})).size() == 2);
  }
  const auto wanted = records_in(CachedTiny().run({"run", "study.yaml", "--json"}));
  CHECK(wanted.size() == 6);
  const Outcome rest = apart.run({"run", "study.yaml", "--json"});
  CHECK(records_in(rest) == wanted);
  const nlohmann::json plan =
      quench::test::data_of(apart.run({"plan", "study.yaml", "--json"}).out);
  CHECK(plan.at("counts").at("done") == 6);
  CHECK(plan.at("folder") == "runs/tiny");
  CHECK_THAT(quench::test::read_file(apart.here.folder() / "runs/tiny/manifest.yaml"),
             Catch::StartsWith("# What study.yaml amounts to"));
}
