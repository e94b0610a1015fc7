// quench gate and quench compare on folders that other tools wrote.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "tests/regression/gguf_twins.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

namespace quench::test {

namespace {

using json = nlohmann::json;
using Words = std::vector<std::string>;

// The program's answer to a question about two models, and its exit code. What was asked before is
// forgotten.
class Gate {
 public:
  Finished run(const std::string& verb, const std::string& first, const std::string& second,
               Words more = {}) {
    Words words = {verb, first, second, "--metric", metric};
    words.insert(words.end(), more.begin(), more.end());
    return run_quench(words, {{"QUENCH_HOME", home_.path().string()}});
  }
  ValidationText text = ValidationText::make();
  std::string metric = text.metric();

 private:
  TemporaryDir home_;
};

}  // namespace

TEST_CASE("gate: folders of other tools are judged against their float model", "[regression]") {
  struct Case {
    const char* folder;
    const char* budget;
    const char* verdict;
    int code;
  };
  const Case cases[] = {
      {"gptqmodel-7.7.0-w4-v1", "2%", "within", 0},
      {"gptqmodel-4.2.5-w3-v1-descact", "0.1%", "undecided", 4},
      {"gptqmodel-7.7.0-awq-gemm", "2%", "within", 0},
      {"llmcompressor-0.14.0.1-gptq-w4", "0.01%", "beyond", 3},
      {"bitsandbytes/model-t6-float16", "0.5%", "within", 0},  // has no tokenizer
  };
  Gate gate;
  const std::string model = fixture("trajectories/gpt_neox-traj/step1200").string();
  for (const Case& each : cases) {
    CAPTURE(each.folder);
    const std::string quantized = fixture("interchange/" + std::string(each.folder)).string();
    const Finished got = gate.run("gate", model, quantized, {"--budget", each.budget, "--json"});
    INFO(got.err);
    CHECK(got.code == each.code);
    const json data = data_of(got.out);
    CHECK(data.at("verdict") == each.verdict);
    CHECK(data.at("lower") < data.at("value"));
    CHECK(data.at("value") < data.at("upper"));
  }
}

TEST_CASE("gate: a GGUF file and its own weights are undecided by a budget as small as rounding",
          "[regression][gguf]") {
  const fs::path original = fixture("models/llama");
  const json config = read_json(original / "config.json");
  const TemporaryDir folder;
  const auto weights = open_checkpoint_folder(built_catalog(), original).source;
  folder.write("gguf/tokenizer.json", read_file(original / "tokenizer.json"));
  folder.write("gguf/model.gguf", gguf_of(*weights, config));
  Gate gate;
  const std::string file = (folder / "gguf/model.gguf").string();
  CHECK(gate.run("gate", original.string(), file, {"--budget", "0.5%"}).code == 0);
  const Finished got = gate.run("compare", original.string(), file);
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains(" has a higher loss than ") && Contains("95 % interval"));
}

TEST_CASE("gate: a quantizer on the float model, its budget's verdicts and more text",
          "[regression]") {
  Gate gate;
  const std::string model = fixture("trajectories/gpt_neox-traj/step1200").string();
  const Finished within = gate.run("gate", model, "rtn:bits=8", {"--budget", "0.5%"});
  INFO(within.err);
  CHECK(within.code == 0);
  CHECK_THAT(within.out, Contains("within: ΔQL ") && Contains("budget 0.5 %\n  loss "));

  const Finished beyond = gate.run("gate", model, "rtn:bits=3", {"--budget", "0.1%", "--json"});
  CHECK(beyond.code == 3);
  const json data = data_of(beyond.out);
  CHECK(data.at("verdict") == "beyond");
  // A budget that is the difference itself.
  const std::string budget = fmt::format("{:.12f}%", 100 * data.at("value").get<double>());
  const Finished close = gate.run("gate", model, "rtn:bits=3", {"--budget", budget, "--json"});
  CHECK(close.code == 4);
  CHECK(data_of(close.out).at("verdict") == "undecided");
  CHECK(json::parse(close.out).at("error").at("exit_code") == 4);
  const TemporaryDir folder;
  const fs::path less = folder.write("less.txt", read_file(gate.text.file()).substr(0, 100000));
  gate.metric = "validation_loss:text=" + less.string() + ",block=128";
  const Finished again = gate.run("gate", model, "rtn:bits=3", {"--budget", budget});
  CHECK(again.code == 2);
  CHECK_THAT(again.err, Contains("got another text, wanted the same one"));
}

TEST_CASE("gate: without a text both models are judged on the text that eval measures on",
          "[regression]") {
  const TemporaryDir home;
  const std::string model = fixture("trajectories/gpt_neox-traj/step1200").string();
  const auto run = [&](const Words& words) {
    return run_quench(words, {{"QUENCH_HOME", home.path().string()}});
  };
  const std::string text =
      "text: Moby Dick, which may be in the model's training data; --metric and --calibration name "
      "others\n";
  const Finished gptq = run({"gate", model, "gptq:bits=4", "--budget", "50%"});
  INFO(gptq.err);
  CHECK(gptq.code == 0);  // with the shipped calibration text
  CHECK_THAT(gptq.out, Catch::StartsWith(text + "within: ΔQL "));
  const std::string folder = fixture("interchange/gptqmodel-7.7.0-w4-v1").string();
  const Finished compared = run({"compare", model, folder, "--json"});
  CHECK(compared.code == 0);
  CHECK(json::parse(compared.out).at("warnings").at(0) == text.substr(0, text.size() - 1));
  const std::string metric =
      "validation_loss:text=" + (source_dir() / "configs/moby_dick/validation.txt").string() +
      ",block=128";
  const json records =
      data_of(run({"eval", folder, "--metric", metric, "--json"}).out).at("records");
  CHECK(data_of(compared.out).at("second") == records.at(0).at("value"));
  const Finished unbudgeted = run({"gate", model, folder, "--budget", "0%"});
  CHECK(unbudgeted.code == 2);
  CHECK(unbudgeted.out.empty());
  const Finished both = run({"compare", model, folder, "--metric", "m", "--task", "sciq"});
  CHECK(both.code == 2);
  CHECK_THAT(both.err, Contains("got both of --metric and --task, wanted one"));
}

TEST_CASE("gate: what cannot be compared is refused in one line", "[regression]") {
  Gate gate;
  const std::string model = fixture("trajectories/gpt_neox-traj/step1200").string();
  const Finished other =
      gate.run("gate", model, fixture("models/llama").string(), {"--budget", "1%"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("models/llama: got ") && Contains(", wanted ") &&
                            Contains(" as in " + model));
  const TemporaryDir folder;
  fs::copy(model, folder / "lower");
  std::string tokenizer = read_file(folder / "lower/tokenizer.json");
  json changed = json::parse(tokenizer);
  changed["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "e"}}}, {"content", "a"}};
  folder.write("lower/tokenizer.json", changed.dump());
  const Finished ids = gate.run("gate", model, (folder / "lower").string(), {"--budget", "1%"});
  CHECK(ids.code == 2);
  CHECK_THAT(ids.err, Contains("got another tokenizer, which makes other ids of corpus"));
  CHECK(gate.run("gate", model, (folder / "none").string(), {"--budget", "1%"}).code == 2);
  CHECK(gate.run("gate", model, "rtn:bits=4", {"--budget", "0%"}).code == 2);
  const Finished same = gate.run("gate", model, "gptq:bits=4",
                                 {"--budget", "5%", "--calibration",
                                  "text=" + gate.text.file().string() + ",sequences=8,length=128"});
  CHECK(same.code == 0);
  CHECK_THAT(same.err, Contains("calibration and validation read the same file"));
}

}  // namespace quench::test
