// A checkpoint whose files say what nobody knows: one warning, the records, and --strict.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kWarning = "config.json: trained_on: not known, taken to change nothing";
const std::string kMetric = "validation_loss:text=t.txt,block=16";

// A trained Llama as `name`, with one key more than it was saved with.
void write_model(const Workplace& here, const std::string& name, const std::string& key,
                 const json& value) {
  const fs::path from = quench::test::fixture("models/llama");
  fs::create_directories(here.folder() / name);
  for (const char* file : {"pytorch_model.bin", "tokenizer.json", "tokenizer_config.json"}) {
    fs::copy_file(from / file, here.folder() / name / file);
  }
  json config = json::parse(quench::test::read_file(from / "config.json"));
  config[key] = value;
  here.folder().write(name + "/config.json", config.dump());
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// The warnings in the records of a folder, each of which must have the same; `cached`: whether the
// values are another run's.
json warnings_in_records(const Workplace& here, const std::string& folder, bool cached) {
  const Outcome got = here.run({"results", folder, "--json"});
  REQUIRE(got.code == 0);
  const json records = quench::test::data_of(got.out).at("records");
  REQUIRE(records.size() >= 2);
  for (const json& record : records) {
    CHECK(record.at("cached").is_null() != cached);
    CHECK(record.at("checkpoint").value("warnings", json()) ==
          records[0].at("checkpoint").value("warnings", json()));
  }
  return records[0].at("checkpoint").value("warnings", json());
}

}  // namespace

TEST_CASE("unknown keys: eval warns of them once, and its records hold it", "[cli][torch]") {
  quench::test::need_plugin("models/llama");
  const Workplace here{Page::kNone};
  write_model(here, "m", "trained_on", "books");
  write_model(here, "known", "unsloth_fixed", true);
  const Outcome got = here.run({"eval", "m", "--metric", kMetric, "--json"});
  CAPTURE(got.err);
  REQUIRE(got.code == 0);
  const json answer = quench::test::answer_of(got.out);
  CHECK(answer.at("warnings") == json{"quench.llama: " + kWarning});
  const json with = answer.at("data").at("records").at(0);
  CHECK(with.at("checkpoint").at("warnings") == json{kWarning});
  const json without =
      quench::test::data_of(here.run({"eval", "known", "--metric", kMetric, "--json"}).out)
          .at("records")
          .at(0);
  CHECK_FALSE(without.at("checkpoint").contains("warnings"));
  CHECK(with.at("value") == without.at("value"));
}

TEST_CASE("unknown keys: run warns once of many checkpoints, and keeps it with reused values",
          "[cli][torch]") {
  quench::test::need_plugin("models/llama");
  const Workplace here{Page::kNone};
  write_model(here, "models/step1", "trained_on", "books");
  write_model(here, "models/step2", "trained_on", "songs");
  here.folder().write("m.yaml",
                      "checkpoints: {model: models, revisions: \"step{step}\"}\n"
                      "metrics: [validation_loss: {corpus: t, block: 16}]\n"
                      "corpora: {t: {text: {path: t.txt}}}\n");
  const Outcome first = here.run({"run", "m.yaml", "--out", "first"});
  CAPTURE(first.err);
  CHECK(first.code == 0);
  CHECK(count_of(first.err, kWarning) == 1);
  CHECK(warnings_in_records(here, "first", false) == json{kWarning});
  const Outcome second = here.run({"run", "m.yaml", "--out", "second"});
  CAPTURE(second.err);
  CHECK(second.code == 0);
  CHECK(warnings_in_records(here, "second", true) == json{kWarning});
}

TEST_CASE("unknown keys: --strict refuses them before any work", "[cli][torch]") {
  quench::test::need_plugin("models/llama");
  const Workplace here{Page::kNone};
  write_model(here, "m", "trained_on", "books");
  here.folder().write("m.yaml",
                      "checkpoints: {model: m}\n"
                      "metrics: [validation_loss: {corpus: t, block: 16}]\n"
                      "corpora: {t: {text: {path: t.txt}}}\n");
  const std::vector<Workplace::Arguments> verbs = {
      {"plan", "m.yaml"},
      {"submit", "m.yaml", "--to", "slurm", "--dry-run", "--out", "r"},
      {"run", "m.yaml", "--out", "r"},
      {"eval", "m", "--metric", kMetric},
      {"quantize", "m", "--quantizer", "template_quantizer:bits=4", "--format", "template_format",
       "-o", "q"}};
  for (Workplace::Arguments verb : verbs) {
    CAPTURE(verb);
    verb.emplace_back("--strict");
    const Outcome got = here.run(verb);
    CAPTURE(got.err);
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Contains(kWarning + " (--strict)"));
    CHECK(count_of(got.err, kWarning) == 1);
  }
  CHECK_FALSE(fs::exists(here.folder() / "r"));
  CHECK_FALSE(fs::exists(here.folder() / "q"));
  // What is known is not refused.
  write_model(here, "known", "use_mrope", false);
  CHECK(here.run({"eval", "known", "--metric", kMetric, "--strict"}).code == 0);
}

TEST_CASE("unknown keys: of a model that is to be trained they are refused", "[cli][torch]") {
  quench::test::need_plugin("models/llama");
  quench::test::need_plugin("optimizers/sgd");
  const Workplace here{Page::kNone};
  here.folder().write(
      "m.yaml",
      "checkpoints: {model: train}\n"
      "train: {model: {model_type: llama, hidden_size: 16, intermediate_size: 24, "
      "num_hidden_layers: 1, num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 32, "
      "rms_norm_eps: 0.00001, trained_on: books}, corpus: t, tokenizer: bytes, optimizer: sgd, "
      "lr: {schedule: constant, peak: 0.001}, batch: 2, length: 16, steps: 2, every: 1}\n"
      "metrics: [validation_loss: {corpus: t, block: 16}]\n"
      "corpora: {t: {text: {path: t.txt}}}\n");
  for (const char* verb : {"plan", "run"}) {
    const Outcome got = here.run({verb, "m.yaml", "--out", "r"});
    CAPTURE(verb, got.out, got.err);
    CHECK(got.code == 2);
    CHECK_THAT(got.err,
               Contains("train.model: " + kWarning + "; refused, as a new model is drawn"));
    CHECK(count_of(got.err, kWarning) == 1);
    CHECK_FALSE(fs::exists(here.folder() / "r"));
  }
}
