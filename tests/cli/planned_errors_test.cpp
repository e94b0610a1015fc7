// What a run would refuse is refused before any work, by `plan` and `submit` as well.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::vector<Workplace::Arguments> kVerbs = {
    {"plan", "m.yaml"}, {"submit", "m.yaml", "--to", "slurm", "--dry-run"}, {"run", "m.yaml"}};

// Puts QUENCH_HOME below `home`.
Outcome run_with_home(const Workplace& here, const Workplace::Arguments& arguments,
                      const fs::path& home) {
  quench::Command command = here.command(arguments);
  std::erase_if(*command.environment,
                [](const std::string& v) { return v.starts_with("QUENCH_HOME="); });
  command.environment->push_back("QUENCH_HOME=" + home.string());
  quench::ChildProcess process = quench::ChildProcess::start(std::move(command));
  return here.wait(process);
}

}  // namespace

TEST_CASE(
    "plan, submit, run: texts that are not there are told alike, all at once, before any work",
    "[cli]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\n"
                      "calibration:\n"
                      "  none: {corpus: gone, sequences: 1, length: 10, packing: concat}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: 4}\n    calibration: none\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: gone, block: 16}\n"
                      "corpora: {gone: {text: {path: nothing.txt}}}\n");
  for (const Workplace::Arguments& verb : kVerbs) {
    CAPTURE(verb);
    const Outcome got = here.run(verb);
    CHECK(got.code == 2);
    CHECK(got.out.empty());
    // Once, where it is described, however many read it.
    CHECK_THAT(got.err, StartsWith("m.yaml:9:18: corpus text: ") &&
                            EndsWith("nothing.txt: cannot be read: No such file or directory\n"));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
  }
  CHECK_FALSE(fs::exists(here.folder() / "runs"));
}

TEST_CASE("plan, submit, run: a text at a URL or in a home folder is told", "[cli]") {
  const Workplace here(Page::kNone);
  for (const auto& [path, said] :
       {std::pair("~/t.txt", "got `~/t.txt`, wanted a path; `~` is the home folder to a shell"),
        std::pair("https://x.org/t.txt", "from elsewhere nothing is downloaded")}) {
    here.folder().write("m.yaml",
                        "checkpoints: {model: tiny}\n"
                        "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                        "corpora: {v: {text: {path: " +
                            std::string(path) + "}}}\n");
    for (const Workplace::Arguments& verb : kVerbs) {
      CAPTURE(verb);
      const Outcome got = here.run(verb);
      CHECK(got.code == 2);
      CHECK_THAT(got.err, StartsWith("m.yaml:4:") && Contains(said));
    }
  }
}

TEST_CASE("plan, submit, run: blocks and calibration rows longer than the context are told alike",
          "[cli][torch]") {
  quench::test::need_plugin("models/gpt_neox");
  quench::test::need_plugin("optimizers/sgd");
  const Workplace here(Page::kNone);
  here.folder().write(
      "m.yaml",
      "checkpoints: {model: train}\n"
      "train:\n"
      "  model: {model_type: gpt_neox, hidden_size: 32, intermediate_size: 64, num_hidden_layers: "
      "1,\n"
      "          num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 64,\n"
      "          rotary_pct: 0.5, use_parallel_residual: true, hidden_act: gelu}\n"
      "  corpus: v\n"
      "  tokenizer: bytes\n"
      "  optimizer: sgd\n"
      "  lr: {schedule: constant, peak: 1e-2, warmup: 1}\n"
      "  batch: 1\n"
      "  length: 16\n"
      "  steps: 1\n"
      "calibration: {long: {corpus: v, sequences: 1, length: 640, packing: concat}}\n"
      "quantizers:\n"
      "  - template_quantizer: {bits: 3}\n    calibration: long\n"
      "metrics:\n"
      "  - validation_loss: {corpus: v, block: 512}\n"
      "corpora: {v: {text: {path: t.txt}}}\n");
  for (const Workplace::Arguments& verb : kVerbs) {
    CAPTURE(verb);
    const Outcome got = here.run(verb);
    CHECK(got.code == 2);
    CHECK(got.err ==
          "m.yaml:18:5: metric validation_loss: block: got 512 ids, wanted at most 64, the context "
          "of the model; write `block: 64`\n"
          "m.yaml:13:15: calibration long: `length`: got 640 ids, wanted at most 64, the context "
          "of the model\n");
  }
}

TEST_CASE("plan, submit: a quantizer without the calibration that it needs is refused as by a run",
          "[cli][torch]") {
  quench::test::need_plugin("quantizers/gptq");
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\nquantizers:\n  - gptq: {bits: [3, 4]}\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  for (const Workplace::Arguments& verb : kVerbs) {
    CAPTURE(verb);
    const Outcome got = here.run(verb);
    CHECK(got.code == 2);
    CHECK_THAT(got.err,
               StartsWith("m.yaml:3:5: quantizer gptq: needs calibration data and got none, "
                          "wanted `calibration` beside it or --calibration text=FILE,"));
  }
}

TEST_CASE("plan, submit: what a hub may still bring is no error", "[cli]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: hf://datasets/org/texts/v.txt}}}\n");
  CHECK(here.run({"plan", "m.yaml"}).code == 0);
  CHECK(here.run({"submit", "m.yaml", "--to", "slurm", "--dry-run"}).code == 0);
  const Outcome run = here.run({"run", "m.yaml"});
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Contains("quench fetch hf://datasets/org/texts"));
}

TEST_CASE("plan, submit, run: too little text for a calibration is told before the first cell",
          "[cli]") {
  const Workplace here(Page::kNone);
  here.folder().write(
      "m.yaml",
      "checkpoints: {model: tiny}\n"
      "calibration: {few: {corpus: v, sequences: 20, length: 100, packing: concat}}\n"
      "quantizers:\n"
      "  - template_quantizer: {bits: 3}\n"
      "  - template_quantizer: {bits: 4}\n    calibration: few\n"
      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
      "corpora: {v: {text: {path: t.txt}}}\n");
  const std::string message =
      "m.yaml:2:15: calibration few: 20 sequences of 100 ids need 2000 ids, the corpus has 1000\n";
  for (const Workplace::Arguments& verb : kVerbs) {
    CAPTURE(verb);
    const Outcome got = here.run(verb);
    CHECK(got.code == 2);
    CHECK(got.err == message);
  }
  CHECK_FALSE(fs::exists(here.folder() / "runs"));
}

TEST_CASE(
    "run: a QUENCH_HOME that cannot be written is told before any work, and plan does without",
    "[cli]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const auto check_run = [&](const fs::path& home) {
    const Outcome got = run_with_home(here, {"run", "m.yaml"}, home);
    CHECK(got.code == 1);
    CHECK_THAT(got.err,
               Catch::StartsWith(home.string() + ": cannot be written, and runs keep there "
                                                 "what they share: ") &&
                   EndsWith("; set QUENCH_HOME to another folder\n"));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(here.folder() / "runs"));
  };
  check_run(here.folder() / "t.txt/home");
  if (::geteuid() != 0) {  // root writes to read-only folders
    const fs::path shut = here.folder() / "shut";
    fs::create_directory(shut);
    fs::permissions(shut, fs::perms::owner_read | fs::perms::owner_exec);
    check_run(shut);
    CHECK(run_with_home(here, {"plan", "m.yaml"}, shut).code == 0);
  }
}

TEST_CASE("plan, run: a shard that its index names and that is not there is told before any work",
          "[cli]") {
  const Workplace here(Page::kNone);
  fs::create_directory(here.folder() / "model");
  here.folder().write("model/config.json", "{}");
  here.folder().write("model/model.safetensors.index.json",
                      R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})");
  // Another tool fetched only the index of the other format.
  here.folder().write("model/pytorch_model.bin.index.json",
                      R"({"weight_map": {"x": "a.bin", "y": "b.bin"}})");
  here.folder().write("m.yaml",
                      "checkpoints: {model: model}\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: m.yaml}}}\n");
  const std::string missing =
      "model.safetensors.index.json: names b.safetensors, which is not beside it";
  here.folder().write("model/a.safetensors", "");
  const Outcome planned = here.run({"plan", "m.yaml"});
  CHECK_THAT(planned.out, Contains("blocked") && Contains(missing));
  const Outcome ran = here.run({"run", "m.yaml"});
  CHECK(ran.code == 2);
  CHECK_THAT(ran.err, Contains("checkpoint ") && Contains(missing));
  CHECK_FALSE(fs::exists(here.folder() / "runs"));
  here.folder().write("model/b.safetensors", "");
  CHECK_THAT(here.run({"plan", "m.yaml"}).out, !Contains("not beside it"));

  fs::remove(here.folder() / "model/b.safetensors");
  fs::create_symlink("gone", here.folder() / "model/b.safetensors");
  CHECK_THAT(here.run({"plan", "m.yaml"}).out,
             Contains("b.safetensors: links to a file that does not exist"));
  here.folder().write("model/model.safetensors", "");  // whole: the others are not read
  CHECK_THAT(here.run({"plan", "m.yaml"}).out,
             !Contains("not beside it") && !Contains("links to a file"));
}
