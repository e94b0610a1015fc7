#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "core/base/io/lease.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/process/child_process.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/skip.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kTwoCheckpoints =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: [3, 4]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

// Two checkpoints, step1 and step2.
void make_models(const Workplace& here) {
  fs::create_directory(here.folder() / "models");
  for (const char* step : {"models/step1", "models/step2"}) {
    fs::copy(here.folder() / "tiny", here.folder() / step, fs::copy_options::recursive);
  }
  here.folder().write("m.yaml", kTwoCheckpoints);
}

std::vector<nlohmann::json> sealed_records_in(const fs::path& folder) {
  std::vector<nlohmann::json> records;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!quench::test::holds_records(entry.path())) {
      continue;
    }
    CHECK(entry.path().filename().string().rfind("records-0-", 0) == 0);
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const nlohmann::json read = nlohmann::json::parse(line);
      CHECK(read.at("sha256") == quench::sha256_hex(quench::canonical_json(read.at("record"))));
      records.push_back(read.at("record"));
    }
  }
  return records;
}

}  // namespace

TEST_CASE("run: leaves manifest, description and checksummed records", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  const Outcome got = here.run({"run", "m.yaml", "--set", "seed=5", "--set",
                                "checkpoints.lr={schedule: linear, peak: 1, warmup: 1, steps: 5}"});
  CHECK(got.code == 0);
  const fs::path folder = here.folder() / "runs/m";
  CHECK(quench::test::read_file(folder / "manifest.yaml") == kTwoCheckpoints);
  const auto manifest = nlohmann::json::parse(quench::test::read_file(folder / "manifest.json"));
  CHECK(manifest.at("seed") == 5);
  CHECK(manifest.at("quantizers")[0].at("template_quantizer").at("bits") == nlohmann::json({3, 4}));
  const auto description = nlohmann::json::parse(quench::test::read_file(folder / "run.json"));
  CHECK(description.at("seed") == 5);
  CHECK(description.at("dtype") == "float32");
  CHECK(description.at("schedules") ==
        nlohmann::json::parse(
            R"([{"branch": "", "jobs": [0], "points": [[0, 0.0], [1, 1.0], [2, 0.75]]}])"));
  const auto records = sealed_records_in(folder);
  REQUIRE(records.size() == 6);  // 2 checkpoints × (float + 2 quantizers)
  for (const nlohmann::json& record : records) {
    CHECK(record.at("error").is_null());
    CHECK(record.at("value").is_number());
  }
}

namespace {

// Bytes of all tensors of a safetensors file, from its header alone.
uint64_t tensor_bytes(const fs::path& file) {
  const std::string bytes = quench::test::read_file(file);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  return bytes.size() - sizeof header - header;
}

}  // namespace

TEST_CASE("run: intervals rest on the documents of the text, and weights have a size", "[cli]") {
  const Workplace here;
  make_models(here);
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: models, revisions: \"step{step}\"}\n"
                      "quantizers: [template_quantizer: {bits: [3, 4]}]\n"
                      "metrics: [validation_loss: {corpus: v, block: 16}]\n"
                      "corpora: {v: {text: {path: t.txt, split: line}}}\n"
                      "report:\n"
                      "  figures: [loss_vs_bytes]\n"
                      "  contrasts: [{a: {bits: 3}, b: {bits: 4}, at: last}]\n");
  const Outcome got = here.run({"run", "m.yaml"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  const uint64_t whole = tensor_bytes(here.folder() / "models/step1/model.safetensors");
  size_t documents = 0;
  for (const nlohmann::json& record : sealed_records_in(here.folder() / "runs/m")) {
    const nlohmann::json& details = record.at("details");
    const auto scored = details.at("documents").at("scored").get<std::vector<double>>();
    const auto nll = details.at("documents").at("nll").get<std::vector<double>>();
    documents = scored.size();
    CHECK(std::accumulate(scored.begin(), scored.end(), 0.0) == details.at("scored"));
    CHECK(std::accumulate(nll.begin(), nll.end(), 0.0) / details.at("scored").get<double>() ==
          Approx(record.at("value").get<double>()).epsilon(1e-12));
    // Two blocks of one linear of 32 x 32 float32 weights.
    const nlohmann::json& quantizer = record.at("quantizer");
    const double saved =
        quantizer.is_null() ? 0
                            : 2 * 32 * 32 * (4 - quantizer.at("bits_per_weight").get<double>() / 8);
    CHECK(details.at("stored_bytes").get<double>() ==
          Approx(static_cast<double>(whole) - saved).epsilon(1e-12));
  }
  CHECK(documents > 50);  // lines of some nine bytes in 1000
  CHECK_THAT(got.out, Catch::Contains(fmt::format("over {} documents", documents)));
  const Outcome csv = here.run({"report", "m", "--format", "csv", "--figure", "loss_vs_bytes"});
  CHECK(csv.code == 0);
  const std::string points =
      quench::test::read_file(here.folder() / "runs/m/figures/loss_vs_bytes.csv");
  CHECK_THAT(points, Catch::Contains(",\"template_quantizer bits=3, step2\"\n") &&
                         Catch::Contains(fmt::format("0,0,{},", whole)));
  CHECK_THAT(
      here.run({"results", "m", "--csv", "--where", fmt::format("stored_bytes={}", whole)}).out,
      Catch::Contains(",step2,") && !Catch::Contains("template_quantizer"));
}

TEST_CASE("run: one failed checkpoint fails its cells, the others are finished", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  fs::resize_file(here.folder() / "models/step1/model.safetensors", 1000);
  const Outcome got = here.run({"run", "m.yaml", "--out", "results"});
  CHECK(got.code == 1);
  const auto records = sealed_records_in(here.folder() / "results");
  size_t failed = 0;
  size_t finished = 0;
  for (const nlohmann::json& record : records) {
    const bool broken = record.at("checkpoint").at("revision") == "step1";
    CHECK(record.at("error").is_string() == broken);
    CHECK(record.at("value").is_null() == broken);
    (broken ? failed : finished) += 1;
  }
  CHECK(failed == 3);  // float and two quantizers
  CHECK(finished == 3);
  CHECK_THAT(got.out, Catch::Contains("failed: step1, float, validation_loss: ") &&
                          Catch::Contains("failed: step1, template_quantizer bits=3"));
}

TEST_CASE("run: a checkpoint with a file name that is no text fails its cells alone", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  const fs::path step = here.folder() / "models/step1";
  const fs::path odd = step / "\xff\x1b[31m.pth";
  fs::rename(step / "model.safetensors", odd);
  fs::resize_file(odd, 1000);
  const Outcome got = here.run({"run", "m.yaml", "--out", "results"});
  INFO(got.err);
  CHECK(got.code == 1);
  size_t failed = 0;
  for (const nlohmann::json& record : sealed_records_in(here.folder() / "results")) {
    if (record.at("checkpoint").at("revision") == "step1") {
      ++failed;
      CHECK_THAT(record.at("error").get<std::string>(), Catch::Contains("\\xff\\x1b[31m.pth"));
    } else {
      CHECK(record.at("error").is_null());
    }
  }
  CHECK(failed == 3);
  CHECK(here.run({"run", "m.yaml", "--out", "results"}).code == 1);  // and so does every rerun
  CHECK(here.run({"results", "results"}).code == 0);
}

TEST_CASE("run: in a folder whose name is no text is a run like any other", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  const std::string folder = "out\xff";
  const Outcome got = here.run({"run", "m.yaml", "--out", folder});
  INFO(got.err);
  CHECK(got.code == 0);
  CHECK(sealed_records_in(here.folder() / folder).size() == 6);
}

TEST_CASE("run: a folder that may not be written is an error", "[cli]") {
  quench::test::skip_unless(::geteuid() != 0, "root writes to read-only folders");
  const Workplace here(Page::kNone);
  make_models(here);
  fs::create_directory(here.folder() / "shut");
  fs::permissions(here.folder() / "shut", fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome shut = here.run({"run", "m.yaml", "--out", "shut"});
  CHECK(shut.code == 1);
  CHECK_THAT(shut.err,
             Catch::Contains("shut/manifest.yaml") && Catch::Contains("Permission denied"));
}

TEST_CASE("plan: says what would run and leaves nothing behind", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  const Outcome got = here.run({"plan", "m.yaml"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("cell ") && Catch::Contains("m: 6 cells: 6 to do\n") &&
                          Catch::Contains("step2, template_quantizer bits=4, validation_loss"));
  CHECK(!fs::exists(here.folder() / "runs"));
}

TEST_CASE("run: --dry-run prints what plan does, and leaves nothing behind", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  const Outcome got = here.run({"run", "m.yaml", "--dry-run"});
  CHECK(got.code == 0);
  CHECK(got.out == here.run({"plan", "m.yaml"}).out);
  CHECK(!fs::exists(here.folder() / "runs"));
}

TEST_CASE("plan: the points of a sweep are named by what they set", "[cli]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\nseed: 0\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n"
                      "sweep: {seed: [3, 4]}\n");
  const std::string plan = here.run({"plan", "m.yaml"}).out;
  CHECK_THAT(plan, Catch::Contains("\nseed=3, tiny, float, validation_loss") &&
                       Catch::Contains("\nseed=4, job 1: tiny, float, validation_loss"));
}

TEST_CASE("plan: the trainings of a sweep are named by what they set", "[cli]") {
  quench::test::need_plugin("models/gpt_neox");
  quench::test::need_plugin("optimizers/sgd");
  const Workplace here(Page::kNone);
  here.folder().write("t.txt", std::string(4096, 'a'));
  here.folder().write(
      "m.yaml",
      "checkpoints: {model: train}\n"
      "train: {model: {model_type: gpt_neox, hidden_size: 8, intermediate_size: 8, "
      "num_hidden_layers: 1, num_attention_heads: 1, vocab_size: 256, max_position_embeddings: 16, "
      "hidden_act: gelu, layer_norm_eps: 1e-5, rotary_pct: 1.0, rotary_emb_base: 10000}, "
      "corpus: v, tokenizer: bytes, optimizer: sgd, lr: {schedule: constant, peak: 0.001}, "
      "batch: 1, length: 16, steps: 4, every: 2}\n"
      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
      "corpora: {v: {text: {path: t.txt}}}\n"
      "sweep: {train.lr.peak: [0.001, 0.002]}\n");
  const Outcome plan = here.run({"plan", "m.yaml"});
  INFO(plan.err);
  CHECK_THAT(plan.out, Catch::Contains("\npeak=0.001, the run  0..4") &&
                           Catch::Contains("\npeak=0.002, the run  0..4"));
}

TEST_CASE("plan: a folder's checkpoints need neither HOME nor a hub", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  quench::Command command = here.command({"plan", "m.yaml"});
  std::erase_if(*command.environment, [](const std::string& each) {
    return each.starts_with("HOME=") || each.starts_with("HF_") || each.starts_with("XDG_");
  });
  quench::ChildProcess process = quench::ChildProcess::start(std::move(command));
  const Outcome got = here.wait(process);
  CHECK(got.err.empty());
  CHECK(got.code == 0);
}

TEST_CASE("plan: a model's config is told from a manifest", "[cli]") {
  const Workplace here(Page::kNone);
  const Outcome got = here.run({"plan", "tiny/config.json"});
  CHECK(got.code == 2);
  CHECK(got.err ==
        "tiny/config.json: this is a model's config, wanted a manifest; `quench init FOLDER` "
        "writes one\n");
}

TEST_CASE("plan: a key's earlier name works with a warning", "[cli]") {
  const Workplace here(Page::kNone);
  make_models(here);
  const auto with = [&](const std::string& key) {
    std::string manifest = kTwoCheckpoints;
    const std::string entry = "block: 16}\n";
    manifest.insert(manifest.find(entry) + entry.size(), "    " + key + ": true\n");
    here.folder().write("m.yaml", manifest);
    return here.run({"plan", "m.yaml"});
  };
  const Outcome now = with("fused");
  CHECK(now.code == 0);
  CHECK_THAT(now.err, !Catch::Contains("is called"));
  const Outcome before = with("in_pass");
  CHECK(before.code == 0);
  CHECK(before.out == now.out);
  CHECK_THAT(before.err,
             Catch::Contains("m.yaml:7:5: metrics: `in_pass` is called `fused` by now"));
}

TEST_CASE("plan: a grid beyond all bounds is refused with its count", "[cli]") {
  const Workplace here(Page::kNone);
  std::string list = "[0";
  for (int i = 1; i < 400; ++i) {
    list += "," + std::to_string(i);
  }
  list += "]";
  here.folder().write(
      "m.yaml", "checkpoints: {model: tiny}\nquantizers:\n  - template_quantizer: {bits: " + list +
                    ", group_size: " + list +
                    "}\nmetrics:\n  - template_metric: {corpus: v}\n"
                    "corpora: {v: {template_corpus: {}}}\n");
  const Outcome got = here.run({"plan", "m.yaml"});
  CHECK(got.code == 2);
  CHECK(got.err ==
        "m.yaml:3:5: quantizer template_quantizer: 160000 combinations of bits, group_size, "
        "more than 100000\n");
}

namespace {

// How many lines of a table have this.
size_t lines_with(const std::string& text, const std::string& word) {
  size_t out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    out += line.find(word) != std::string::npos ? 1 : 0;
  }
  return out;
}

std::string manifest_of(int bits, int block) {
  return fmt::format(
      "name: m\ncheckpoints: {{model: tiny}}\n"
      "quantizers: [template_quantizer: {{bits: {}}}]\n"
      "metrics: [validation_loss: {{corpus: v, block: {}}}]\n"
      "corpora: {{v: {{text: {{path: t.txt}}}}}}\n",
      bits, block);
}

}  // namespace

TEST_CASE("run: another corpus or block in the same folder is said and told apart", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml", manifest_of(3, 16));
  const Outcome first = here.run({"run", "m.yaml", "-q"});
  REQUIRE(first.code == 0);
  CHECK(first.err.empty());
  CHECK_THAT(first.out, !Catch::Contains("corpus"));

  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += static_cast<char>('a' + i * i % 23);
  }
  here.folder().write("t.txt", text);
  here.folder().write("m.yaml", manifest_of(4, 16));
  const Outcome corpus = here.run({"run", "m.yaml", "-q"});
  REQUIRE(corpus.code == 0);
  CHECK_THAT(corpus.err,
             Catch::StartsWith("warning: runs/m holds values of another text: 2 of validation_loss "
                               "with another corpus `v` (") &&
                 Catch::EndsWith("): 1 of them stays in its tables and report beside the new "
                                 "ones; `--out FOLDER` keeps texts apart\n"));
  CHECK_THAT(corpus.out, !Catch::Contains("corpus"));  // what the manifest asks for has one
  const Outcome table = here.run({"results", "runs/m"});
  CHECK_THAT(table.out, Catch::StartsWith("corpus "));
  CHECK(lines_with(table.out, "v ") == 3);  // with the beginning of the text's hash
  CHECK(lines_with(table.out, "%") == 1);   // the float value of the old text does not count
  CHECK_THAT(here.run({"results", "runs/m", "--where", "metric=quantization_error"}).out,
             !Catch::Contains("corpus"));  // one value
  CHECK_THAT(here.run({"status", "runs/m"}).out,
             Catch::Contains("records  3 done (1 of another text), 0 failed"));
  CHECK(quench::test::data_of(here.run({"status", "runs/m", "--json"}).out)
            .at("records")
            .at("of_other_text") == 1);
  CHECK_THAT(quench::test::read_file(here.folder() / "runs/m/report.html"),
             Catch::Contains("1 value of validation_loss with another corpus `v` (") &&
                 Catch::Contains("validation_loss block=16 has values of several texts"));

  here.folder().write("m.yaml", manifest_of(4, 32));
  const Outcome block = here.run({"run", "m.yaml", "-q"});
  REQUIRE(block.code == 0);
  CHECK_THAT(block.err, Catch::Contains("2 of validation_loss with another block (16, now 32)") &&
                            Catch::Contains(": 3 of them stay in its tables"));
  CHECK(std::count(block.err.begin(), block.err.end(), '\n') == 1);
  CHECK_THAT(here.run({"results", "runs/m"}).out, Catch::StartsWith("block  corpus "));
  CHECK_THAT(here.run({"results", "runs/m", "--csv"}).out,
             Catch::Contains(",text.block,text.corpus,metric,"));
  const Outcome errors = here.run({"results", "runs/m", "--where", "metric=quantization_error"});
  CHECK_THAT(errors.out, Catch::StartsWith("block  checkpoint "));
  CHECK_THAT(here.run({"results", "runs/m", "--table", "md"}).out,
             Catch::StartsWith("| block | corpus | checkpoint |"));
  CHECK_THAT(
      here.run({"results", "runs/m", "--where", "metric=quantization_error", "--table", "md"}).out,
      Catch::StartsWith("| block | checkpoint |"));
  CHECK_THAT(here.run({"status", "runs/m"}).out,
             Catch::Contains("records  5 done (3 of another text), 0 failed"));
  CHECK(here.run({"run", "m.yaml", "-q", "--out", "runs/own"}).err.empty());
}

TEST_CASE("run: what a killed process left half-written goes with the next start", "[cli]") {
  const Workplace here;
  make_models(here);
  REQUIRE(here.run({"run", "m.yaml", "-q"}).code == 0);
  const std::vector<fs::path> places = {"runs/m/report.html", "runs/m/claims/a.0.claim",
                                        "home/training/ab", "home/records/ab",
                                        "home/fingerprints/ab"};
  fs::create_directories(here.folder() / "home/training");
  quench::ChildProcess::start_copy([&] {
    for (const fs::path& place : places) {
      std::ofstream(quench::temporary_beside(here.folder() / place, ".tmp")) << "half";
    }
    return ::raise(SIGKILL);
  }).wait();
  const auto left = [&] {
    size_t count = 0;
    for (const fs::path& place : places) {
      for (const auto& entry : fs::directory_iterator((here.folder() / place).parent_path())) {
        count += entry.path().extension() == ".tmp" ? 1 : 0;
      }
    }
    return count;
  };
  REQUIRE(left() == places.size());
  CHECK(here.run({"run", "m.yaml", "-q"}).code == 0);
  CHECK(left() == 0);
}

TEST_CASE("run: a report that cannot be written is a failure, and the records stay", "[cli]") {
  const Workplace here;
  make_models(here);
  REQUIRE(here.run({"run", "m.yaml", "-q"}).code == 0);
  const fs::path page = here.folder() / "runs/m/report.html";
  if (!fs::exists(page)) {
    quench::test::skip("no Python with numpy, scipy and matplotlib");
    return;
  }
  fs::remove(page);
  fs::create_directories(page / "in_its_place");
  const Outcome got = here.run({"run", "m.yaml", "-q"});
  CHECK(got.code == 1);
  CHECK_THAT(got.err, Catch::Contains("no report is written: "));
  CHECK(quench::test::answer_of(here.run({"run", "m.yaml", "--json"}).out).at("error").at("what") ==
        "the report could not be written");
  fs::remove_all(page);
  CHECK(here.run({"run", "m.yaml", "-q"}).code == 0);
}

TEST_CASE("run: a mistake in the report is told before any work", "[cli]") {
  const Workplace here;
  make_models(here);
  here.folder().write("m.yaml", kTwoCheckpoints + "report: {figures: [{loss_plan: {}}]}\n");
  const Outcome got = here.run({"run", "m.yaml"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Catch::StartsWith("m.yaml:8:21: ") && Catch::Contains("loss_plane"));
  CHECK(!fs::exists(here.folder() / "runs"));
}
