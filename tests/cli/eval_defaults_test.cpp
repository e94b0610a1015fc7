// What `quench eval MODEL` does without being told what to measure.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

TEST_CASE("eval: a model alone is measured on the shipped text, float and by two methods",
          "[cli][torch]") {
  quench::test::need_plugin("quantizers/gptq");
  quench::test::need_plugin("quantizers/rtn");
  const Workplace here{Page::kNone};
  const Outcome got = here.run({"eval", "tiny"});
  CAPTURE(got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.out,
             StartsWith("text: Moby Dick, which may be in the model's training data; "
                        "--metric and --calibration name others\nexpected time: ") &&
                 Contains("\ntiny        float        -") &&
                 Contains("\ntiny        rtn bits=3 ") && Contains("\ntiny        rtn bits=4 ") &&
                 Contains("\ntiny        gptq bits=3 ") && Contains("\ntiny        gptq bits=4 "));
  // With a quantizer of the user's, the text is still the shipped one.
  const Outcome one = here.run({"eval", "tiny", "--quantizer", "rtn:bits=5", "--json"});
  CHECK(one.code == 0);
  const auto answer = quench::test::answer_of(one.out);
  CHECK_THAT(answer.at("warnings").at(0).get<std::string>(), StartsWith("text: Moby Dick"));
  CHECK(answer.at("data").at("records").size() == 3);  // float, quantized, and their error
}

TEST_CASE("eval: with a metric of the user's nothing is added", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome got = here.run({"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, StartsWith("checkpoint ") && !Contains("rtn"));
}

TEST_CASE("eval: a default that is given is in the method's name", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome got =
      here.run({"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16", "--quantizer",
                "template_quantizer:bits=4", "--quantizer", "template_quantizer"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains(" template_quantizer bits=4 ") && Contains(" template_quantizer  "));
}

TEST_CASE("eval: a word that a metric is known by leads to it", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome got = here.run({"eval", "tiny", "--metric", "perplexity"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, StartsWith("no metric is called perplexity; there is validation_loss: Mean "
                                 "cross entropy per token"));
  CHECK_THAT(here.run({"eval", "tiny", "--metric", "nothing_like_it"}).err,
             Contains("no metric is called nothing_like_it; there are "));
}

TEST_CASE("eval: tasks are asked as other tools spell it", "[cli][torch]") {
  quench::test::need_plugin("metrics/tasks");
  quench::test::need_plugin("corpora/jsonl");
  const Workplace here{Page::kNone};
  here.folder().write("mine/capitals.yaml",
                      "task: capitals\ndata: {paths: [capitals]}\nsplits: [test]\n"
                      "prompt: \"{{q}}\"\nchoices: \"{{c}}\"\nanswer: \"{{0}}\"\nscores: [acc]\n");
  here.folder().write("mine/rivers.yaml",
                      "task: rivers\ndata: {paths: [capitals]}\nsplits: [test]\n"
                      "prompt: \"{{q}}\"\nchoices: \"{{c}}\"\nanswer: \"{{1}}\"\nscores: [acc]\n");
  here.folder().write("data/capitals/test.jsonl", R"({"q": "Of France?", "c": ["Paris", "Rome"]})"
                                                  "\n");
  const std::string rest = ",files=mine,data=data";
  const Outcome got = here.run({"eval", "tiny", "--tasks", "capitals,rivers" + rest, "--json"});
  CAPTURE(got.err, got.out);
  REQUIRE(got.code == 0);
  const auto records = quench::test::data_of(got.out).at("records");
  REQUIRE(records.size() == 3);
  CHECK(records.at(1).at("metric") == "tasks/capitals/acc");
  CHECK(records.at(2).at("metric") == "tasks/rivers/acc");
  // One question with two answers: one of both tasks has the right one.
  CHECK(records.at(0).at("value") == 0.5);
  CHECK(here.run({"eval", "tiny", "--task", "capitals" + rest, "--metric",
                  "validation_loss:text=t.txt,block=16"})
            .code == 0);
}

TEST_CASE("eval: what is wrong with a model is one line, before any work", "[cli]") {
  const Workplace here{Page::kNone};
  const std::string metric = "validation_loss:text=t.txt,block=16";
  here.folder().write("bert/config.json", R"({"model_type": "bert"})");
  for (const quench::test::Workplace::Arguments& words :
       {Workplace::Arguments{"eval", "bert", "--metric", metric},
        Workplace::Arguments{"eval", "bert"}}) {
    const Outcome got = here.run(words);
    CHECK(got.code == 2);
    CHECK(got.out.empty());
    CHECK_THAT(got.err, StartsWith("bert: no weights: looked for ") &&
                            Contains("; and bert/config.json: ") && Contains("bert"));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
  }
  std::filesystem::create_directory(here.folder() / "empty");
  const Outcome empty = here.run({"eval", "empty", "--metric", metric});
  CHECK(empty.code == 2);
  CHECK_THAT(empty.err, StartsWith("empty: no weights: ") && !Contains("; and "));
  CHECK(std::count(empty.err.begin(), empty.err.end(), '\n') == 1);
  // Weights that are there have a fault of their own.
  here.folder().write("cut/config.json", R"({"model_type": "bert"})");
  here.folder().write("cut/model.safetensors", "short");
  CHECK(here.run({"eval", "cut", "--metric", metric}).err ==
        "cut/model.safetensors: 5 bytes, a safetensors file has at least 8\n");
}

TEST_CASE("results: an option of another name is found by its value", "[cli]") {
  const Workplace here{Page::kNone};
  for (const Workplace::Arguments& words :
       {Workplace::Arguments{"results", "r", "--format", "latex"},
        Workplace::Arguments{"results", "r", "--format=latex"}}) {
    CHECK(here.run(words).err ==
          "quench results: unknown option --format; did you mean --table latex?; see `quench "
          "results --help`\n");
  }
  CHECK_THAT(here.run({"results", "r", "--format", "csv"}).err, Contains("did you mean --csv?"));
  CHECK_THAT(here.run({"results", "r", "--format", "late"}).err,
             Contains("unknown option --format; see"));
}

TEST_CASE("plan: reasons are summed up in the order of the training", "[cli]") {
  const Workplace here{Page::kNone};
  std::string bits;
  for (int i = 2; i <= 8; ++i) {
    bits += (i == 2 ? "" : ", ") + std::to_string(i);
  }
  // Larger than what a plan reads unasked: holes, and so no room on the disk.
  constexpr uint64_t kBytes = uint64_t{300} << 20;
  const std::string head =
      nlohmann::json{
          {"x", {{"dtype", "F32"}, {"shape", {kBytes / 4}}, {"data_offsets", {0, kBytes}}}}}
          .dump();
  std::string start(8, '\0');
  start[0] = static_cast<char>(head.size());
  for (const char* step : {"step120", "step30", "step300", "step1200"}) {
    const std::filesystem::path folder = here.folder() / "all" / step;
    std::filesystem::create_directories(folder);
    std::filesystem::copy(here.folder() / "tiny/config.json", folder / "config.json");
    const std::filesystem::path file =
        here.folder().write(std::string("all/") + step + "/model.safetensors", start + head);
    std::filesystem::resize_file(file, 8 + head.size() + kBytes);
  }
  here.folder().write("m.yaml",
                      "checkpoints: {model: all, revisions: \"step{step}\"}\nquantizers:\n"
                      "  - template_quantizer: {bits: [" +
                          bits +
                          "], group_size: [0, 16, 32]}\n"
                          "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                          "corpora: {v: {text: {path: t.txt}}}\n");
  const Outcome got = here.run({"plan", "m.yaml"});
  CAPTURE(got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains("weights of step30, step120, step300 and 1 more not read yet\n"));
  CHECK_THAT(got.out, StartsWith("cells  state  why\n88 "));
}
