// Runs of machines without a common disk, joined.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/json/canonical_json.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kManifest =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: [3, 4]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

void make_models(const Workplace& here) {
  fs::create_directory(here.folder() / "models");
  for (int step = 1; step <= 4; ++step) {
    const fs::path folder = here.folder() / ("models/step" + std::to_string(step));
    fs::copy(here.folder() / "tiny", folder, fs::copy_options::recursive);
    std::fstream file(folder / "model.safetensors",
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);
    file.put(static_cast<char>(step));
  }
  here.folder().write("m.yaml", kManifest);
}

// The share, in a folder of its own and with a store of its own, as on another machine.
void run_share(const Workplace& here, const std::string& share, const std::string& folder) {
  fs::remove_all(here.folder() / "home/records");
  const Outcome got = here.run({"run", "m.yaml", "--share", share, "--out", folder});
  INFO(got.err);
  REQUIRE(got.code == 0);
}

// What the run says, without times and without what merely tells which attempt it was.
nlohmann::json results_of(const Workplace& here, const std::string& run) {
  const Outcome got = here.run({"results", run, "--json"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  const nlohmann::json out = quench::test::data_of(got.out);
  nlohmann::json list = nlohmann::json::array();
  for (nlohmann::json record : out.at("records")) {
    list.push_back({record.at("checkpoint"), record.at("quantizer"), record.at("metric"),
                    record.at("value"), record.at("items"), record.at("key")});
  }
  return list;
}

// Names, sizes and times of all files of a run.
std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> files_of(const fs::path& run) {
  std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    if (entry.is_regular_file()) {
      out[entry.path().string()] = {entry.file_size(), entry.last_write_time()};
    }
  }
  return out;
}

// Adds `delta` to the value of the first record, with its checksum.
void change_first_value(const fs::path& run, double delta) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (!quench::test::holds_records(entry.path())) {
      continue;
    }
    std::string text = quench::test::read_file(entry.path());
    const size_t end = text.find('\n');
    nlohmann::json record = nlohmann::json::parse(text.substr(0, end)).at("record");
    record["value"] = record.at("value").get<double>() + delta;
    text.replace(0, end, quench::seal("record", quench::canonical_json(record)));
    // Another attempt of another machine, so another name.
    const fs::path other = run / "records-0-0001-00c0ffee.jsonl";
    fs::remove(entry.path());
    std::ofstream(other) << text;
    return;
  }
}

}  // namespace

TEST_CASE("merge: three shares together are the run", "[cli][merge]") {
  const Workplace here{Page::kNone};
  make_models(here);
  REQUIRE(here.run({"run", "m.yaml", "--out", "whole"}).code == 0);
  for (const char* number : {"1", "2", "3"}) {
    run_share(here, std::string(number) + "/3", std::string("share") + number);
  }
  const Outcome two = here.run({"merge", "share1", "share2", "--into", "joined"});
  CHECK(two.code == 0);
  CHECK_THAT(two.out, Contains("not here yet: share 3/3"));
  const Outcome three = here.run({"merge", "share1", "share2", "share3", "--into", "joined"});
  CHECK(three.code == 0);
  CHECK_THAT(three.out, Contains("12 cells with values") && !Contains("not here"));
  CHECK(results_of(here, "joined") == results_of(here, "whole"));
  CHECK(here.run({"verify", "joined"}).code == 0);
  SECTION("and merging them again changes nothing") {
    const auto before = files_of(here.folder() / "joined");
    CHECK(here.run({"merge", "share3", "share1", "share2", "--into", "joined"}).code == 0);
    CHECK(files_of(here.folder() / "joined") == before);
  }
  SECTION("and the run has nothing to do in it") {
    const Outcome plan = here.run({"plan", "m.yaml", "--out", "joined", "--json"});
    CHECK(quench::test::data_of(plan.out).at("counts") == nlohmann::json{{"done", 12}});
  }
  SECTION("and a report can be written") {
    CHECK(here.run({"report", "joined"}).code == 0);
  }
}

TEST_CASE("merge: runs of different manifests are refused, and it is said what differs",
          "[cli][merge]") {
  const Workplace here{Page::kNone};
  make_models(here);
  run_share(here, "1/2", "a");
  REQUIRE(here.run({"run", "m.yaml", "--share", "2/2", "--out", "b", "--set", "seed=7"}).code == 0);
  const Outcome got = here.run({"merge", "a", "b", "--into", "joined"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Contains("b: another manifest than a") && Contains("seed: 7, was"));
  CHECK_FALSE(fs::exists(here.folder() / "joined"));
}

TEST_CASE("merge: two values of one cell are refused, unless one run is preferred",
          "[cli][merge]") {
  const Workplace here{Page::kNone};
  make_models(here);
  run_share(here, "1/2", "a");
  run_share(here, "1/2", "b");
  const Outcome equal = here.run({"merge", "a", "b", "--into", "same"});
  CHECK(equal.code == 0);  // computed twice, with equal values
  CHECK_THAT(equal.out, Contains("6 cells with values"));
  change_first_value(here.folder() / "b", 0.5);
  const Outcome got = here.run({"merge", "a", "b", "--into", "joined"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Contains("1 cells have different values") && Contains(" in a, ") &&
                          Contains(" in b") && Contains("step1, float, validation_loss"));
  CHECK_FALSE(fs::exists(here.folder() / "joined"));
  for (const char* preferred : {"a", "b"}) {
    CAPTURE(preferred);
    const std::string into = std::string("joined-") + preferred;
    const Workplace::Arguments words = {"merge", "a", "b", "--into", into, "--prefer", preferred};
    CHECK(here.run(words).code == 0);
    CHECK(results_of(here, into) == results_of(here, preferred));
    const auto before = files_of(here.folder() / into);
    CHECK(here.run(words).code == 0);
    CHECK(files_of(here.folder() / into) == before);
  }
  CHECK(here.run({"merge", "a", "b", "--prefer", "whole"}).code == 2);
}

TEST_CASE("merge: a run that went on is taken up where it was left", "[cli][merge]") {
  const Workplace here{Page::kNone};
  make_models(here);
  run_share(here, "1/2", "a");
  run_share(here, "2/2", "b");
  fs::copy(here.folder() / "b", here.folder() / "early", fs::copy_options::recursive);
  for (const fs::directory_entry& entry : fs::directory_iterator(here.folder() / "early")) {
    if (quench::test::holds_records(entry.path())) {
      fs::resize_file(entry.path(), entry.file_size() / 2);  // in the middle of a record
    }
  }
  CHECK(here.run({"merge", "a", "early"}).code == 0);
  CHECK(here.run({"merge", "a", "b"}).code == 0);
  // Of two copies of a file the longer one counts, in whatever order they come.
  CHECK_THAT(here.run({"merge", "b", "early", "--into", "other"}).out, Contains("6 cells"));
  CHECK_THAT(here.run({"merge", "early", "b", "--into", "third"}).out, Contains("6 cells"));
  const Outcome stale = here.run({"merge", "a", "early"});
  CHECK(stale.code == 0);
  CHECK_THAT(stale.out, Contains("12 cells with values; 0 files"));
}

TEST_CASE("merge: averages and exports come along", "[cli][merge]") {
  const Workplace here{Page::kNone};
  make_models(here);
  here.folder().write("m.yaml", kManifest + "averaging:\n  - soup: {}\n    keep: true\n");
  const Outcome ran = here.run({"run", "m.yaml", "--out", "a"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  REQUIRE_FALSE(files_of(here.folder() / "a/averages").empty());
  CHECK(here.run({"merge", "a", "--into", "joined"}).code == 0);
  for (const auto& [path, what] : files_of(here.folder() / "a/averages")) {
    const fs::path there =
        here.folder() / "joined" / fs::relative(path, (here.folder() / "a").string());
    CAPTURE(there.string());
    CHECK(quench::test::read_file(there) == quench::test::read_file(path));
  }
}

TEST_CASE("merge: a link or a pipe in what would be copied is refused before anything is written",
          "[cli][merge]") {
  const Workplace here{Page::kNone};
  const fs::path run = here.folder() / "a";
  for (const char* name : {"a/averages/soup/config.json", "a/exports/step1/q/model.safetensors",
                           "a/manifest.json", "a/log-0-0001-00000001.jsonl"}) {
    here.folder().write(name, "{}");
  }
  here.folder().write("secret", "mine");
  const std::string kind = GENERATE("link", "pipe", "description", "log");
  CAPTURE(kind);
  fs::path foreign = run / "exports/step1/q/tokenizer.json";
  if (kind == "pipe") {
    REQUIRE(mkfifo(foreign.c_str(), 0600) == 0);
  } else {
    foreign = kind == "description" ? run / "manifest.yaml"
              : kind == "log"       ? run / "log-0-0001-00000002.jsonl"
                                    : foreign;
    fs::create_symlink(here.folder() / "secret", foreign);
  }
  const Outcome got = here.run({"merge", "a", "--into", "joined"});
  CHECK(got.code == 1);
  CHECK_THAT(got.err,
             Contains(foreign.lexically_relative(here.folder().path()).string() +
                      (kind == "pipe" ? ": is neither a file nor a folder" : ": is a link") +
                      ", so quench did not write it; nothing merged"));
  CHECK_FALSE(fs::exists(here.folder() / "joined"));
}
