// quench init and quench schema.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

void make_folders(const Workplace& here, const std::string& model,
                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    fs::create_directories(here.folder() / model / name);
  }
}

std::vector<std::string> planned_revisions(const Workplace& here, const std::string& manifest) {
  for (const char* text : {"validation.txt", "calibration.txt"}) {  // the user brings them
    std::string lines;  // as many as the calibration wants
    for (int i = 0; i < 7000; ++i) {
      lines += "some text\n";
    }
    here.folder().write((fs::path(manifest).parent_path() / text).string(), lines);
  }
  const Outcome plan = here.run({"plan", manifest, "--json"});
  CAPTURE(plan.err);
  REQUIRE(plan.code == 0);
  std::vector<std::string> out;
  const nlohmann::json document = quench::test::data_of(plan.out);
  for (const auto& cell : document.at("checkpoints")) {
    out.push_back(cell.at("revision"));
  }
  return out;
}

}  // namespace

TEST_CASE("init: the manifest that it writes passes plan", "[cli]") {
  const Workplace here;
  make_folders(here, "my run", {"step0", "step20", "step100", "logs"});
  const Outcome got = here.run({"init", "my run"});
  CHECK(got.code == 0);
  CHECK(got.out == "wrote my-run.yaml; fill in the two corpora, then: quench plan my-run.yaml\n");
  CHECK(planned_revisions(here, "my-run.yaml") ==
        std::vector<std::string>{"step0", "step20", "step100"});
  const std::string text = quench::test::read_file(here.folder() / "my-run.yaml");
  CHECK_THAT(text, Catch::Contains("revisions: \"step{step}\"   # 3 found, step0 to step100") &&
                       Catch::Contains("# not matched: logs") &&
                       Catch::Contains("validation: {text: {path: validation.txt}}") &&
                       Catch::StartsWith("# yaml-language-server: $schema="));
}

TEST_CASE("init: the methods of `eval` are switched on, the others are comments", "[cli]") {
  for (const char* plugin : {"quantizers/rtn", "quantizers/gptq", "quantizers/noise"}) {
    quench::test::need_plugin(plugin);
  }
  const Workplace here;
  REQUIRE(here.run({"init", "tiny", "-o", "m.yaml"}).code == 0);
  const std::string text = quench::test::read_file(here.folder() / "m.yaml");
  CAPTURE(text);
  CHECK_THAT(text, Catch::Contains("\n  - rtn: ") && Catch::Contains("\n  - gptq: ") &&
                       Catch::Contains("\n  # - noise: "));
}

TEST_CASE("init: its choices are within the model, and take the reader's", "[cli]") {
  quench::test::need_plugin("models/gpt_neox");
  const Workplace here;
  here.folder().write("tiny/config.json",
                      R"({"model_type": "gpt_neox", "hidden_size": 32, "intermediate_size": 64,
          "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256,
          "max_position_embeddings": 64, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
          "rotary_pct": 0.25, "rotary_emb_base": 10000, "use_parallel_residual": true,
          "attention_bias": true, "tie_word_embeddings": false})");
  const Outcome got = here.run(
      {"init", "tiny", "--text", "t.txt", "--quantizer", "template_quantizer", "-o", "sub.yaml"});
  CAPTURE(got.err);
  CHECK(got.code == 0);
  CHECK(got.out == "wrote sub.yaml; next: quench plan sub.yaml\n");
  const std::string text = quench::test::read_file(here.folder() / "sub.yaml");
  CAPTURE(text);
  // 512 would fail when the model is measured.
  CHECK_THAT(text, Catch::Contains("length: 64, packing") &&
                       Catch::Contains("\n  - template_quantizer: ") &&
                       Catch::Contains("validation: {text: {path: \"t.txt\"}}"));
  const Outcome unknown =
      here.run({"init", "tiny", "--quantizer", "tamplate_quantizer", "-o", "b.yaml"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Catch::StartsWith("no quantizer is called tamplate_quantizer; did you "
                                            "mean template_quantizer?"));
  CHECK(here.run({"init", "tiny", "--text", "none.txt", "-o", "b.yaml"}).err ==
        "--text none.txt: is not a file\n");
  CHECK_FALSE(fs::exists(here.folder() / "b.yaml"));
}

TEST_CASE("init: a folder without checkpoints is refused", "[cli]") {
  const Workplace here;
  make_folders(here, "empty", {});
  fs::create_directories(here.folder() / "empty/notes");
  const Outcome got = here.run({"init", "empty"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Catch::StartsWith("empty: no checkpoints here: "));
  CHECK_FALSE(fs::exists(here.folder() / "empty.yaml"));
}

TEST_CASE("init: odd names of folders stay inside their quotes and comments", "[cli]") {
  const Workplace here;
  make_folders(here, "a\nb: \"c\"\t", {"step1\nmetrics: []", "step2\nmetrics: []", "x\ny"});
  const Outcome got = here.run({"init", "a\nb: \"c\"\t", "-o", "m.yaml"});
  CAPTURE(got.err, quench::test::read_file(here.folder() / "m.yaml"));
  CHECK(got.code == 0);
  planned_revisions(here, "m.yaml");
  make_folders(here, "caf\xe9", {"step1"});
  const Outcome latin = here.run({"init", "caf\xe9", "-o", "n.yaml"});
  CHECK(latin.code == 2);
  CHECK(latin.err == "caf\\xe9: is not UTF-8, so that no manifest can name it\n");
}

TEST_CASE("init: paths are relative to the manifest, wherever it is written", "[cli]") {
  const Workplace here;
  make_folders(here, "run", {"ing1-step5", "ing2-step5"});
  fs::create_directories(here.folder() / "configs");
  CHECK(here.run({"init", "--from", "run/", "-o", "configs/a.yaml"}).code == 0);
  CHECK(planned_revisions(here, "configs/a.yaml") ==
        std::vector<std::string>{"ing1-step5", "ing2-step5"});
}

TEST_CASE("init: a single checkpoint needs no pattern", "[cli]") {
  const Workplace here;
  CHECK(here.run({"init", "tiny", "-o", "a.yaml"}).code == 0);
  CHECK(planned_revisions(here, "a.yaml") == std::vector<std::string>{""});
}

TEST_CASE("init: it replaces no file, and wants a model that is there", "[cli]") {
  const Workplace here;
  here.folder().write("tiny.yaml", "mine");
  const Outcome there = here.run({"init", "tiny"});
  CHECK(there.code == 2);
  CHECK(there.err == "tiny.yaml: already exists; name another file with -o\n");
  CHECK(quench::test::read_file(here.folder() / "tiny.yaml") == "mine");
  CHECK(here.run({"init", "nothere"}).err == "nothere: is not a folder of checkpoints\n");
  CHECK(here.run({"init", "tiny", "--from", "tiny"}).err ==
        "quench init: got both MODEL and --from; wanted one\n");
}

TEST_CASE("schema: it is JSON with the plugins that are there", "[cli]") {
  const Workplace here;
  const Outcome got = here.run({"schema"});
  CHECK(got.code == 0);
  const auto schema = nlohmann::json::parse(got.out);
  CHECK(schema.at("$schema") == "http://json-schema.org/draft-07/schema#");
  const auto& forms = schema.at("properties").at("quantizers").at("items").at("anyOf");
  CHECK(forms.at(0).at("properties").contains("template_quantizer"));
}
