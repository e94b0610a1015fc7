// Several processes at one run's folder: each cell is computed once, by one of them.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using quench::ChildProcess;
using quench::ChildStream;
using quench::Command;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

constexpr int kCheckpoints = 5;
constexpr size_t kCells = 15;  // of each checkpoint the float model and two quantizers

// Checkpoints step1 to step5 that differ in the last bit of one weight: equal ones have equal keys,
// and then their values are shared, not computed.
void make_models(const Workplace& here) {
  fs::create_directory(here.folder() / "models");
  for (int step = 1; step <= kCheckpoints; ++step) {
    const fs::path folder = here.folder() / ("models/step" + std::to_string(step));
    fs::copy(here.folder() / "tiny", folder, fs::copy_options::recursive);
    std::fstream file(folder / "model.safetensors",
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);
    file.put(static_cast<char>(step));
  }
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: models, revisions: \"step{step}\"}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: [3, 4]}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
}

// Makes each cell take a while.
void lengthen_text(const Workplace& here) {
  std::string text;
  for (int i = 0; text.size() < 30000; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + "\n";
  }
  here.folder().write("t.txt", text);
}

// One of several processes; what it says goes to `out<i>` and `err<i>`.
ChildProcess start(const Workplace& here, int i, const Workplace::Arguments& more = {},
                   const std::vector<std::string>& environment = {}) {
  Workplace::Arguments words = {"run", "m.yaml", "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  Command command = here.command(words);
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(*command.environment,
                  [&](const std::string& each) { return each.starts_with(name); });
    command.environment->push_back(variable);
  }
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  command.streams[1] = ChildStream::file(1, here.folder() / ("out" + std::to_string(i)), kFlags);
  command.streams[2] = ChildStream::file(2, here.folder() / ("err" + std::to_string(i)), kFlags);
  return ChildProcess::start(command);
}

std::string said_by(const Workplace& here, int i) {
  return quench::test::read_file(here.folder() / ("err" + std::to_string(i)));
}

// How often each cell was computed, over all attempts.
std::map<std::string, int> computed(const Workplace& here) {
  std::map<std::string, int> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(here.folder() / "runs/m")) {
    if (!quench::test::holds_records(entry.path())) {
      continue;
    }
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const nlohmann::json record = nlohmann::json::parse(line).at("record");
      if (record.at("cached").is_null()) {
        const nlohmann::json& quantizer = record.at("quantizer");
        ++out[record.at("checkpoint").at("revision").get<std::string>() + " " +
              (quantizer.is_null() ? "float" : quantizer.at("label").get<std::string>())];
      }
    }
  }
  return out;
}

void check_each_once(const Workplace& here) {
  const std::map<std::string, int> cells = computed(here);
  CHECK(cells.size() == kCells);
  for (const auto& [cell, times] : cells) {
    CAPTURE(cell);
    CHECK(times == 1);
  }
  const Outcome results = here.run({"results", "runs/m", "--where", "error!=null", "--json"});
  CHECK(results.code == 0);
  const Outcome verified = here.run({"verify", "runs/m"});
  CHECK(verified.code == 0);
}

size_t files_with(const fs::path& folder, const std::string& ending) {
  size_t count = 0;
  std::error_code missing;
  for (fs::directory_iterator at(folder, missing), end; !missing && at != end; ++at) {
    count += at->path().extension() == ending ? 1 : 0;
  }
  return count;
}

// Until somebody has a claim, at most 60 s.
bool wait_for_claim(const Workplace& here) {
  for (int i = 0; i < 6000; ++i) {
    if (files_with(here.folder() / "runs/m/claims", ".claim") > 0) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void need_training() {
  quench::test::need_plugin("models/gpt_neox");
  quench::test::need_plugin("optimizers/sgd");
}

// A manifest that trains two checkpoints, with `more` sections.
void write_training(const Workplace& here, const std::string& more = "") {
  here.folder().write(
      "m.yaml",
      "name: m\n"
      "checkpoints: {model: train}\n"
      "train: {model: {model_type: gpt_neox, hidden_size: 32, intermediate_size: 64, "
      "num_hidden_layers: 1, num_attention_heads: 2, vocab_size: 256, "
      "max_position_embeddings: 64, rotary_pct: 0.5, use_parallel_residual: true, hidden_act: "
      "gelu}, corpus: v, tokenizer: bytes, optimizer: sgd, lr: {schedule: constant, peak: 0.001}, "
      "batch: 4, length: 16, steps: 10, every: 5}\n"
      "metrics: [validation_loss: {corpus: v, block: 16}]\n"
      "corpora: {v: {text: {path: t.txt}}}\n" +
          more);
}

}  // namespace

TEST_CASE("claims: processes that start together compute every cell once", "[cli][claims]") {
  const int processes = GENERATE(2, 8);
  CAPTURE(processes);
  const Workplace here{Page::kNone};
  make_models(here);
  std::vector<ChildProcess> all;
  for (int i = 0; i < processes; ++i) {
    all.push_back(start(here, i));
  }
  for (int i = 0; i < processes; ++i) {
    CAPTURE(i, said_by(here, i));
    CHECK(all[i].wait().code() == 0);
    // Each shows the whole run, whoever computed it.
    CHECK_THAT(quench::test::read_file(here.folder() / ("out" + std::to_string(i))),
               Contains("15 records"));
  }
  check_each_once(here);
  const fs::path claims = here.folder() / "runs/m/claims";
  CHECK(files_with(claims, ".claim") == files_with(claims, ".released"));
}

TEST_CASE("claims: nor is one computed twice where names are seen late, as on NFS",
          "[cli][claims]") {
  const Workplace here{Page::kNone};
  make_models(here);
  const std::vector<std::string> late = {
      "LD_PRELOAD=" + (quench::test::binary_dir() / "tests/libquench_late_names.so").string(),
      "QUENCH_LATE_UNDER=" + (here.folder() / "runs").string(), "QUENCH_LATE_MS=2500"};
  std::vector<ChildProcess> all;
  for (int i = 0; i < 4; ++i) {
    // Machines with homes of their own: nothing but the run's folder says what is done.
    const std::string home = here.folder() / ("home" + std::to_string(i));
    fs::copy(here.folder() / "home", home, fs::copy_options::recursive);
    std::vector<std::string> environment = late;
    environment.push_back("QUENCH_HOME=" + home);
    all.push_back(start(here, i, {}, environment));
  }
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i, said_by(here, i));
    CHECK(all[i].wait().code() == 0);
    CHECK_THAT(quench::test::read_file(here.folder() / ("out" + std::to_string(i))),
               Contains("15 records"));
  }
  check_each_once(here);
}

TEST_CASE("claims: what a killed process had is taken over at once", "[cli][claims]") {
  const Workplace here{Page::kNone};
  make_models(here);
  lengthen_text(here);
  ChildProcess first = start(here, 0);
  REQUIRE(wait_for_claim(here));
  first.end();
  ChildProcess second = start(here, 1);
  CHECK(second.wait().code() == 0);
  CHECK_THAT(quench::test::read_file(here.folder() / "err1"),
             Contains("taken over from attempt 0001-") && Contains("its process is gone"));
  check_each_once(here);
}

TEST_CASE("claims: what a stopped process has is taken over when its lease ends, and counts once",
          "[cli][claims]") {
  const Workplace here{Page::kNone};
  make_models(here);
  lengthen_text(here);
  ChildProcess first = start(here, 0, {"--lease", "3"});
  REQUIRE(wait_for_claim(here));
  first.signal(SIGSTOP);
  ChildProcess second = start(here, 1, {"--lease", "3"});
  CHECK(second.wait().code() == 0);
  CHECK_THAT(said_by(here, 1), Contains("it has shown no sign of life"));
  CHECK(computed(here).size() == kCells);
  first.signal(SIGCONT);
  CHECK(first.wait().code() == 0);
  check_each_once(here);
}

TEST_CASE("claims: a process that is interrupted lets go", "[cli][claims]") {
  const Workplace here{Page::kNone};
  make_models(here);
  lengthen_text(here);
  ChildProcess first = start(here, 0);
  REQUIRE(wait_for_claim(here));
  first.signal(SIGINT);
  CHECK(first.wait().code() == 130);
  const fs::path claims = here.folder() / "runs/m/claims";
  CHECK(files_with(claims, ".claim") == files_with(claims, ".released"));
  CHECK(start(here, 1).wait().code() == 0);
  CHECK_THAT(said_by(here, 1), !Contains("taken over"));
  check_each_once(here);
}

TEST_CASE("claims: one who waits for another says so", "[cli][claims]") {
  const Workplace here{Page::kNone};
  make_models(here);
  lengthen_text(here);
  for (int step = 2; step <= kCheckpoints; ++step) {  // one set of weights is left
    fs::remove_all(here.folder() / ("models/step" + std::to_string(step)));
  }
  ChildProcess first = start(here, 0, {"--lease", "5"});
  REQUIRE(wait_for_claim(here));
  first.signal(SIGSTOP);
  ChildProcess second = start(here, 1, {"--lease", "5", "--progress", "json"});
  CHECK(second.wait().code() == 0);
  CHECK_THAT(said_by(here, 1),
             Contains("waiting for 1 set of weights that other processes are at"));
  first.end();
}

TEST_CASE("claims: what one training makes is trained by one process", "[cli][claims]") {
  need_training();
  const Workplace here{Page::kNone};
  write_training(here);
  std::vector<ChildProcess> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(start(here, i, {"--progress", "json"}));
  }
  int trained = 0;
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(all[i].wait().code() == 0);
    trained += said_by(here, i).find("\"cell\":\"training\"") != std::string::npos ? 1 : 0;
  }
  CHECK(trained == 1);
  const std::map<std::string, int> once = {{"step5 float", 1}, {"step10 float", 1}};
  CHECK(computed(here) == once);
}

TEST_CASE("claims: two machines that see names late train, average, export and compute once",
          "[cli][claims]") {
  need_training();
  const Workplace here{Page::kNone};
  write_training(here,
                 "averaging:\n  - soup: {}\n    keep: true\n"
                 "quantizers:\n  - template_quantizer: {bits: 4, group_size: 16}\n"
                 "    label: q\n    export: gptq\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // until all see the manifest
  std::vector<ChildProcess> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(start(
        here, i, {"--progress", "json"},
        {"LD_PRELOAD=" + (quench::test::binary_dir() / "tests/libquench_late_names.so").string(),
         "QUENCH_LATE_UNDER=" + here.folder().path().string(), "QUENCH_LATE_MS=2000"}));
  }
  int trained = 0;
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i, said_by(here, i));
    CHECK(all[i].wait().code() == 0);
    trained += said_by(here, i).find("\"cell\":\"training\"") != std::string::npos ? 1 : 0;
  }
  CHECK(trained == 1);
  const std::map<std::string, int> once = {// step10 and the soup that ends there
                                           {"step5 float", 1},
                                           {"step5 q", 1},
                                           {"step10 float", 2},
                                           {"step10 q", 2}};
  CHECK(computed(here) == once);
  CHECK(here.run({"verify", "runs/m"}).code == 0);
  for (const auto& entry : fs::directory_iterator(here.folder() / "home/training")) {
    CHECK_THAT(entry.path().filename().string(), !Catch::Matchers::EndsWith(".dropped"));
  }
}
