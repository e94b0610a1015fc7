// What a value depends on changes between the hash in its key and the reading: the cell fails,
// nothing is recorded under the key, and the next run measures what is there then.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::MisbehavingRun;
using quench::test::Outcome;
namespace fs = std::filesystem;

namespace {

// The metric measures quantized weights alone, so that a pass of `misbehaving`, whose deed brings
// the files of new/, lies between the keys of the checkpoint and all that is read for its cells.
std::string manifest(const std::string& metric, const std::string& more = "") {
  return "name: m\n"
         "checkpoints: {model: tiny}\n"
         "calibration: {rows: {corpus: c, sequences: 4, length: 16}}\n"
         "quantizers:\n"
         "  - misbehaving: {deed: replace_files}\n"
         "  - template_quantizer: {bits: 4}\n" +
         more + "metrics: [" + metric +
         "]\n"
         "corpora: {v: {text: {path: t.txt}}, c: {text: {path: c.txt}}}\n";
}

const std::string kLoss = "{validation_loss: {corpus: v, block: 16}, of: quantized}";

std::string lines(int factor) {
  std::string out;
  for (int i = 0; i < 100; ++i) {
    out += "row " + std::to_string(i * factor % 1000) + "\n";
  }
  return out;
}

class ReplacedRun {
 public:
  explicit ReplacedRun(const std::string& text,
                       const std::vector<std::string>& in_process = {"misbehaving",
                                                                     "template_quantizer"})
      : run_("nothing", "", in_process) {
    run_.here.folder().write("m.yaml", text);
    run_.here.folder().write("c.txt", lines(7919));
    fs::create_directories(run_.here.folder() / "new");
  }

  void write(const fs::path& file, const std::string& bytes) const {
    fs::create_directories((run_.here.folder() / file).parent_path());
    std::ofstream(run_.here.folder() / file, std::ios::binary) << bytes;
  }
  fs::path folder() const { return run_.here.folder().path(); }
  std::string read(const fs::path& file) const {
    return quench::test::read_file(run_.here.folder() / file);
  }

  Outcome run(const quench::test::Workplace::Arguments& more = {}) const { return run_.run(more); }

  // How many cells the run's folder has values of.
  size_t values() const {
    const Outcome got = run_.here.run({"results", "runs/m", "--json"});
    INFO(got.err);
    if (got.code != 0) {
      return 0;
    }
    size_t out = 0;
    const json data = quench::test::data_of(got.out);
    for (const json& record : data.at("records")) {
      out += record.at("index") == 0 && record.at("value").is_number() ? 1 : 0;  // no float, no ΔQL
    }
    return out;
  }

  // Of the two cells, those that fail do so with these words and leave nothing; run again, both are
  // measured.
  void check(size_t measured, const std::string& words,
             const quench::test::Workplace::Arguments& more = {}) const {
    const Outcome first = run(more);
    INFO(first.err);
    CHECK(first.code == 1);
    CHECK_THAT(first.err, Contains("is not recorded as failed: ") && Contains(words) &&
                              Contains("run the command again"));
    CHECK(values() == measured);
    const Outcome second = run(more);
    INFO(second.err);
    CHECK(second.code == 0);
    CHECK(values() == 2);
  }

 private:
  MisbehavingRun run_;
};

}  // namespace

TEST_CASE("boundary: a corpus that is replaced after its hash went into the keys fails its cells",
          "[boundary]") {
  const ReplacedRun run(manifest(kLoss));
  run.write("new/t.txt", lines(3));
  run.check(0, "/t.txt: changed before it was read");
}

TEST_CASE(
    "boundary: a calibration text that is replaced later than it is read is another key's alone",
    "[boundary]") {
  const ReplacedRun run(manifest(kLoss, "    calibration: rows\n"));
  run.write("new/c.txt", lines(3));
  const Outcome first = run.run();  // reads it before the first cell
  INFO(first.err);
  CHECK(first.code == 0);
  CHECK(run.values() == 2);
  const Outcome second = run.run();
  CHECK(second.code == 0);
  CHECK_THAT(second.err, Contains("template_quantizer") && !Contains("misbehaving"));
  CHECK(run.values() == 2);
}

TEST_CASE(
    "boundary: a tokenizer that is replaced after its hash went into the keys fails its cells",
    "[boundary]") {
  const ReplacedRun run(manifest(kLoss));
  run.write("new/tiny/tokenizer.json", run.read("tiny/tokenizer.json") + "\n");
  run.check(0, "/tiny/tokenizer.json: the tokenizer was replaced before it was read");
}

TEST_CASE(
    "boundary: a task's records that are replaced after their hash went into the keys fail their "
    "cells",
    "[boundary]") {
  const std::string name =
      GENERATE("test.jsonl", "test.json");  // by a corpus; by the metric itself
  CAPTURE(name);
  const ReplacedRun run(
      manifest("{tasks: {tasks: [sums], files: sums.yaml, data: data, shots: 0}, of: quantized}"));
  run.write("sums.yaml",
            "task: sums\n"
            "version: 1\n"
            "data: {paths: [sums]}\n"
            "splits: [test]\n"
            "prompt: \"{{question}}\"\n"
            "choices: \"{{choices}}\"\n"
            "answer: \"{{answer}}\"\n"
            "scores: [acc]\n");
  const auto put = [&](const std::string& folder, int answer) {
    const std::string record =
        R"({"question": "1+1", "choices": ["1", "2"], "answer": )" + std::to_string(answer) + "}";
    run.write(folder + "data/sums/" + name,
              name == "test.json" ? "[" + record + "]" : record + "\n");
  };
  put("", 1);
  put("new/", 0);
  run.check(0, name + (name == "test.json" ? " changed before it was read"
                                           : ": changed before it was read"));
}

TEST_CASE("boundary: a plugin that is written in place while its code runs fails its cells",
          "[boundary]") {
  const bool apart = GENERATE(false, true);
  CAPTURE(apart);
  std::string text = manifest(kLoss);
  text.replace(text.find("replace_files"), 13, "overwrite_files");
  const ReplacedRun run(text, apart
                                  ? std::vector<std::string>{}
                                  : std::vector<std::string>{"misbehaving", "template_quantizer"});
  const std::string library = quench::test::read_file(quench::test::binary_dir() /
                                                      "template/quantizers/template_quantizer.so");
  run.write("plugins/quantizers/template_quantizer.so", library);
  run.write("new/plugins/quantizers/template_quantizer.so", library + "another build");
  // It is seen at once, after the cell whose deed it was.
  run.check(0, "template_quantizer.so was written in place while its code ran",
            {"--plugin-path", "plugins", "--sandbox", "off"});
}

TEST_CASE("boundary: a plugin whose file is renamed over while its code runs keeps its values",
          "[boundary]") {
  const ReplacedRun run(manifest(kLoss));
  const std::string library = quench::test::read_file(quench::test::binary_dir() /
                                                      "template/quantizers/template_quantizer.so");
  run.write("plugins/quantizers/template_quantizer.so", library);
  run.write("new/plugins/quantizers/template_quantizer.so", library + "another build");
  const Outcome got = run.run({"--plugin-path", "plugins"});
  INFO(got.err);
  CHECK(got.code == 0);
  CHECK(run.values() == 2);
}
