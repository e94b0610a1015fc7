#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/store/record_schema.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kSixCells =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: [3, 4]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";
constexpr size_t kCells = 6;  // 2 checkpoints × (float + 2 quantizers)

// A workplace with two checkpoints that differ, and the manifest m.yaml.
class Runs {
 public:
  Runs() {
    fs::create_directory(here.folder() / "models");
    for (const char* step : {"models/step1", "models/step2"}) {
      fs::copy(here.folder() / "tiny", here.folder() / step, fs::copy_options::recursive);
    }
    change_weights("models/step2", 3);
    here.folder().write("m.yaml", kSixCells);
  }

  // Flips the lowest bits of a few weights at the end of the file.
  void change_weights(const std::string& model, char bits) const {
    std::fstream file(here.folder() / (model + "/model.safetensors"),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-64, std::ios::end);
    char value = 0;
    file.get(value);
    file.seekp(-64, std::ios::end);
    file.put(static_cast<char>(value ^ bits));
  }

  json run(Workplace::Arguments more = {}) const {
    Workplace::Arguments arguments = {"run", "m.yaml", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome got = here.run(arguments);
    INFO(got.err);
    REQUIRE((got.code == 0 || got.code == 1));
    return quench::test::data_of(got.out).at("records");
  }

  // How many cells are in each state.
  json plan() const {
    const Outcome got = here.run({"plan", "m.yaml", "--json"});
    INFO(got.err);
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("counts");
  }

  size_t attempts() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(here.folder() / "runs/m")) {
      count += quench::test::holds_records(entry.path()) ? 1 : 0;
    }
    return count;
  }

  std::string why(const std::string& cell) const { return here.run({"why", "m.yaml", cell}).out; }

  const Workplace here{Page::kNone};
};

// What a record says, without what differs between two computations of the same value.
json compared(json records) {
  quench::strip_not_compared(records);
  return records;
}

}  // namespace

TEST_CASE("run: what is finished is not computed again", "[cli]") {
  const Runs runs;
  CHECK(runs.plan() == json{{"to do", kCells}});
  const json first = runs.run();
  CHECK(runs.attempts() == 1);
  CHECK(runs.plan() == json{{"done", kCells}});
  const json again = runs.run();
  CHECK(again == first);  // seconds and memory included: they are the same records
  CHECK(runs.attempts() == 1);
  CHECK_THAT(runs.why("step1, float"), Catch::Contains("done: runs/m has a record of this key"));
}

TEST_CASE("run: another run takes its records from the store", "[cli]") {
  const Runs runs;
  const json first = runs.run();
  const json other = runs.run({"--out", "elsewhere"});
  CHECK(compared(other) == compared(first));
  for (const json& record : other) {
    if (record.at("metric") != "quantization_error") {
      CHECK_THAT(record.at("cached").get<std::string>(), Catch::EndsWith("runs/m"));
    }
  }
}

TEST_CASE("run: another name of a corpus is no other value", "[cli]") {
  const Runs runs;
  runs.run();
  std::string renamed = kSixCells;
  renamed.replace(renamed.find("corpus: v"), 9, "corpus: w");
  renamed.replace(renamed.find("{v: "), 4, "{w: ");
  runs.here.folder().write("m.yaml", renamed);
  for (const json& record : runs.run({"--out", "renamed"})) {
    CAPTURE(record.at("details"));
    if (record.at("metric") == "validation_loss") {
      CHECK(record.at("cached").is_string());
      CHECK(record.at("details").at("corpora").at("corpus").at("name") == "w");
      CHECK(record.at("details").at("params").at("corpus") == "w");
    }
  }
  runs.run({"--out", "renamed", "--fresh"});
  CHECK(runs.here.run({"verify", "renamed"}).code == 0);
}

TEST_CASE("run: another part of the same text is measured anew", "[cli]") {
  const Runs runs;
  const json whole = runs.run();
  const json half = runs.run({"--out", "half", "--set", "corpora.v.text.to=500"});
  for (const json& record : half) {
    if (record.at("metric") != "quantization_error") {
      CHECK(record.at("cached").is_null());
      CHECK(record.at("key") != whole.at(0).at("key"));
    }
  }
  CHECK(half.at(0).at("value") != whole.at(0).at("value"));
}

TEST_CASE("run: changed weights under the same name are measured anew", "[cli]") {
  const Runs runs;
  const json first = runs.run();
  runs.change_weights("models/step1", 1);
  CHECK(runs.plan() == json{{"done", kCells / 2}, {"to do", kCells / 2}});
  const json second = runs.run();
  REQUIRE(second.size() == first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i].at("metric") == "quantization_error") {
      continue;  // derived: it has no key
    }
    const bool changed = first[i].at("checkpoint").at("revision") == "step1";
    CHECK((first[i].at("key") != second[i].at("key")) == changed);
  }
  runs.change_weights("models/step1", 16);
  CHECK_THAT(runs.why("step1, float"), Catch::Contains("to do: weights changed"));
}

TEST_CASE("run: a changed corpus, tokenizer or parameter is a changed key", "[cli]") {
  const Runs runs;
  runs.run();
  SECTION("corpus") {
    std::ofstream(runs.here.folder() / "t.txt", std::ios::app) << "more\n";
    CHECK(runs.plan() == json{{"to do", kCells}});
    runs.run();
    CHECK(runs.attempts() == 2);
  }
  SECTION("tokenizer") {
    // The same bytes, in a file of another hash.
    std::ofstream(runs.here.folder() / "models/step1/tokenizer.json", std::ios::app) << " \n";
    CHECK(runs.plan() == json{{"done", kCells / 2}, {"to do", kCells / 2}});
    CHECK_THAT(runs.why("step1, float"), Catch::Contains("to do: tokenizer.file changed"));
    runs.run();
    CHECK(runs.attempts() == 2);
  }
  SECTION("seed") {
    const Outcome got = runs.here.run({"why", "m.yaml", "step1, float", "--set", "seed=3"});
    CHECK_THAT(got.out, Catch::Contains("seed"));
  }
  SECTION("metric parameter") {
    const Outcome got = runs.here.run(
        {"why", "m.yaml", "step2, float", "--set", "metrics.0.validation_loss.block=32"});
    INFO(got.err);
    CHECK_THAT(got.out, Catch::Contains("to do"));
  }
}

TEST_CASE("run: an average is a row of the grid, and kept where the manifest says so", "[cli]") {
  const Runs runs;
  runs.here.folder().write("m.yaml", kSixCells + "averaging:\n  - soup: {}\n    keep: true\n");
  const json first = runs.run();
  size_t averaged = 0;
  for (const json& record : first) {
    averaged += record.at("averaging").is_null() ? 0 : 1;
  }
  CHECK(averaged == 5);  // float, and two quantizers with their errors
  const fs::path kept = runs.here.folder() / "runs/m/averages/soup+at+step2";
  CHECK(fs::exists(kept / "model.safetensors"));
  CHECK(fs::exists(kept / "README.md"));
  // Written or not, its loss is the same.
  const Outcome eval = runs.here.run(
      {"eval", kept.string(), "--metric", "validation_loss:text=t.txt,block=16", "--json"});
  INFO(eval.err);
  const double again = quench::test::data_of(eval.out).at("records").at(0).at("value");
  for (const json& record : first) {
    if (!record.at("averaging").is_null() && record.at("quantizer").is_null()) {
      CHECK(record.at("value") == again);
    }
  }
  CHECK(runs.run() == first);
}

TEST_CASE("run: failed cells stay failed until they are asked for", "[cli]") {
  const Runs runs;
  runs.here.folder().write("short.txt", "ab");
  runs.here.folder().write(
      "m.yaml",
      "name: m\ncheckpoints: {model: models, revisions: \"step{step}\"}\nmetrics:\n"
      "  - validation_loss: {corpus: v, block: 16}\n  - validation_loss: {corpus: w, block: 16}\n"
      "    label: short\n"
      "corpora: {v: {text: {path: t.txt}}, w: {text: {path: short.txt}}}\n");
  const Outcome first = runs.here.run({"run", "m.yaml"});
  CHECK(first.code == 1);
  CHECK_THAT(first.out, Catch::Contains("2 failed; try them again with: ") &&
                            Catch::Contains("run m.yaml --retry failed"));
  CHECK(runs.plan() == json{{"done", 2}, {"failed", 2}});
  CHECK(runs.here.run({"run", "m.yaml"}).code == 1);
  CHECK(runs.attempts() == 1);
  CHECK(runs.here.run({"run", "m.yaml", "--retry", "failed"}).code == 1);
  CHECK(runs.attempts() == 2);
  CHECK(runs.plan() == json{{"done", 2}, {"failed", 2}});
}

TEST_CASE("run: --fresh computes everything again and finds the same", "[cli]") {
  const Runs runs;
  const json first = runs.run();
  const json fresh = runs.run({"--fresh"});
  CHECK(compared(fresh) == compared(first));
  CHECK(runs.attempts() == 2);
  CHECK(runs.plan() == json{{"done", kCells}});
}

TEST_CASE("run: a damaged record is computed again, and only that", "[cli]") {
  const Runs runs;
  const json first = runs.run();
  fs::remove_all(runs.here.folder() / "home/records");
  fs::path file;
  for (const auto& entry : fs::directory_iterator(runs.here.folder() / "runs/m")) {
    if (quench::test::holds_records(entry.path())) {
      file = entry.path();
    }
  }
  std::string text = quench::test::read_file(file);
  const size_t value = text.find("\"value\":");
  text[value + 8] = text[value + 8] == '5' ? '6' : '5';
  std::ofstream(file, std::ios::binary) << text;
  CHECK(runs.plan().at("to do") == 1);
  CHECK(compared(runs.run()) == compared(first));
}

TEST_CASE("plan: says which file of the shared store is damaged", "[cli]") {
  const Runs runs;
  runs.run();
  fs::remove_all(runs.here.folder() / "runs");
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(runs.here.folder() / "home/records")) {
    file = entry.is_regular_file() ? entry.path() : file;
  }
  fs::resize_file(file, fs::file_size(file) / 2);
  const quench::test::Outcome got = runs.here.run({"plan", "m.yaml"});
  CHECK(got.code == 0);
  CHECK_THAT(got.err, Catch::StartsWith("warning: ") && Catch::Contains(file.filename().string()) &&
                          Catch::EndsWith("; it is not used\n"));
}

TEST_CASE("run: a tokenizer is in the keys of what read text, and in no other", "[cli]") {
  const Runs runs;
  runs.here.folder().write("m.yaml",
                           "name: m\n"
                           "checkpoints: {model: tiny}\n"
                           "metrics:\n"
                           "  - validation_loss: {corpus: v, block: 16}\n"
                           "  - validation_loss: {corpus: ids, block: 16}\n"
                           "corpora: {v: {text: {path: t.txt}}, ids: {template_corpus: {}}}\n");
  const json records = runs.run();
  REQUIRE(records.size() == 2);
  const json& text = records[0].at("parts").at("tokenizer");
  CHECK(text.at("id") == "tokenizer_json");
  CHECK(text.at("file").get<std::string>().size() == 64);
  CHECK(text.at("code").at("build_id").is_string());
  CHECK(records[1].at("parts").at("tokenizer").is_null());
  std::ofstream(runs.here.folder() / "tiny/tokenizer.json", std::ios::app) << " \n";
  const json again = runs.run();  // a plan does not read a corpus without files
  REQUIRE(again.size() == 2);
  CHECK(again[0].at("key") != records[0].at("key"));
  CHECK(again[1].at("key") == records[1].at("key"));
}
