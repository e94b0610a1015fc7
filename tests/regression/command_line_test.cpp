// What scripts rely on: the form of the JSON, exit codes, messages.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/template_checkpoint.hpp"

namespace quench::test {

namespace {

using json = nlohmann::json;
using Keys = std::set<std::string>;

Keys keys_of(const json& object) {
  Keys out;
  for (const auto& [key, value] : object.items()) {
    out.insert(key);
  }
  return out;
}

// A model of the template family, and a text of 2000 bytes.
class SmallCase {
 public:
  SmallCase() {
    write_template_checkpoint(model());
    std::string text;
    for (int i = 0; i < 2000; ++i) {
      text += static_cast<char>('a' + i * i % 26);
    }
    folder_.write("text.txt", text);
  }
  std::filesystem::path model() const { return folder_ / "model"; }
  std::string text() const { return (folder_ / "text.txt").string(); }
  std::string metric() const { return "validation_loss:text=" + text() + ",block=50"; }
  // `eval` of the model, with the arguments that every case needs.
  std::vector<std::string> eval(std::vector<std::string> more) const {
    std::vector<std::string> out = {"eval",  model().string(), "--tokenizer",
                                    "bytes", "--plugin-path",  template_plugins().string()};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

 private:
  TemporaryDir folder_;
};

}  // namespace

TEST_CASE("eval: the JSON has exactly the documented form", "[regression]") {
  const SmallCase small;
  const json document = quench_json(small.eval(
      {"--metric", small.metric(), "--quantizer", "gptq:bits=3,group_size=16", "--calibration",
       "text=" + small.text() + ",sequences=4,length=64", "--seed", "7"}));
  CHECK(keys_of(document) == Keys{"model", "records"});
  CHECK(document.at("model") == small.model().string());
  const json& records = document.at("records");
  REQUIRE(records.size() == 3);
  for (const json& record : records) {
    CHECK(keys_of(record) == Keys{"schema",     "key",         "parts",     "index", "count",
                                  "checkpoint", "averaging",   "quantizer", "draw",  "jitter",
                                  "metric",     "label",       "value",     "unit",  "direction",
                                  "stderr",     "details",     "items",     "error", "seconds",
                                  "job",        "environment", "cached"});
    CHECK(record.at("value").is_number());
    CHECK(record.at("error").is_null());
    CHECK(record.at("environment").at("seed") == 7);
    CHECK(keys_of(record.at("checkpoint")) == Keys{"model", "revision", "commit", "branch",
                                                   "parent", "mark", "step", "tokens", "lr",
                                                   "phase"});
  }
  const json& floating = records[0];
  CHECK(floating.at("metric") == "validation_loss");
  CHECK(floating.at("unit") == "nats/token");
  CHECK(floating.at("direction") == -1);
  CHECK(floating.at("quantizer").is_null());
  const Keys measured = {"tokens", "scored",        "blocks",  "perplexity",
                         "params", "bits_per_byte", "corpora", "stored_bytes"};
  CHECK(keys_of(floating.at("details")) == measured);
  CHECK(floating.at("details").at("tokens") == 2000);
  CHECK(floating.at("details").at("blocks") == 40);
  CHECK(floating.at("details").at("scored") == 40 * 49);

  const json& quantized = records[1];
  CHECK(keys_of(quantized.at("quantizer")) ==
        Keys{"id", "params", "label", "version", "sha256", "bits_per_weight", "calibration"});
  CHECK(quantized.at("quantizer").at("id") == "gptq");
  CHECK(quantized.at("quantizer").at("params").at("bits") == 3);
  CHECK(quantized.at("quantizer").at("params").at("damp") == 0.01);  // a default is written out
  Keys with_pass = measured;
  with_pass.insert({"layers", "calibration", "quantize_seconds", "pass_seconds", "pass_cpu_seconds",
                    "peak_memory_bytes"});
  CHECK(keys_of(quantized.at("details")) == with_pass);
  const json& layers = quantized.at("details").at("layers");
  REQUIRE(layers.size() == 2);
  CHECK(keys_of(layers[0]) == Keys{"name", "relative_error", "bits", "bits_per_weight", "condition",
                                   "damp", "dead", "diagonal_max", "diagonal_mean", "loss",
                                   "retries", "rows"});
  CHECK(layers[1].at("name") == "blocks.1.mix");

  const json& error = records[2];
  CHECK(error.at("metric") == "quantization_error");
  CHECK(error.at("unit") == "1");
  CHECK(keys_of(error.at("details")) ==
        Keys{"metric", "float", "quantized", "delta", "delta_stderr", "items"});
  const double ratio = quantized.at("value").get<double>() / floating.at("value").get<double>() - 1;
  CHECK(error.at("value") == ratio);
}

TEST_CASE("eval: without --json a table is printed", "[regression]") {
  const SmallCase small;
  const Finished finished =
      run_quench(small.eval({"--metric", small.metric(), "--quantizer", "rtn:bits=3"}));
  REQUIRE(finished.code == 0);
  CHECK(finished.out.starts_with("checkpoint"));
  CHECK(finished.out.find("rtn bits=3") != std::string::npos);
  CHECK(finished.out.find("ΔQL") != std::string::npos);
  CHECK(std::count(finished.out.begin(), finished.out.end(), '\n') == 3);
}

TEST_CASE("exit code: 2 where the command line is at fault", "[regression]") {
  const SmallCase small;
  const auto [arguments, message] = GENERATE(table<std::vector<std::string>, std::string>(
      {{{"--quantizer", "rnt"}, "did you mean rtn?"},
       {{"--quantizer", "rtn:bit=3"}, "rtn: bit: unknown parameter"},
       {{"--quantizer", "rtn:bits=9"}, "2..8"},
       {{"--quantizer", "rtn:bits=x"}, "bits"},
       {{"--dtype", "float8"}, "float8"},
       {{"--calibration", "sequences=4"}, "no corpus"},
       {{"--no-such-option"}, "--no-such-option"}}));
  std::vector<std::string> all = small.eval({"--metric", small.metric()});
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Finished finished = run_quench(all);
  INFO(finished.err);
  CHECK(finished.code == 2);
  CHECK(finished.out.empty());
  CHECK(finished.err.find(message) != std::string::npos);
}

TEST_CASE("exit code: 2 where the command line names a file that is not there", "[regression]") {
  const SmallCase small;
  SECTION("the model") {
    const Finished finished =
        run_quench({"eval", "/nowhere/model", "--metric", small.metric(), "--json"});
    CHECK(finished.code == 2);
    CHECK(data_of(finished.out).is_null());
    CHECK(finished.err.find("/nowhere/model does not exist") != std::string::npos);
  }
  SECTION("the text") {
    const Finished finished =
        run_quench(small.eval({"--metric", "validation_loss:text=/nowhere/text.txt", "--json"}));
    CHECK(finished.code == 2);
    CHECK(data_of(finished.out).is_null());
    CHECK(finished.err.find("/nowhere/text.txt: cannot be read") != std::string::npos);
  }
  SECTION("the layer") {
    const Finished finished = run_quench({"layer", "/nowhere/layer", "--quantizer", "rtn"});
    CHECK(finished.code == 1);
    CHECK(finished.err.find("/nowhere/layer") != std::string::npos);
  }
  SECTION("the revision of a hub model") {
    const TemporaryDir cache;
    const Finished finished =
        run_quench({"eval", "hf://org/name@step1", "--metric", small.metric()},
                   {{"HF_HUB_CACHE", cache.path().string()}});
    CHECK(finished.code == 2);
    CHECK(finished.err.find("org/name") != std::string::npos);
  }
}

TEST_CASE("exit code: 2 where a quantizer gets no data that it needs", "[regression]") {
  const SmallCase small;
  const Finished finished =
      run_quench(small.eval({"--metric", small.metric(), "--quantizer", "gptq", "--json"}));
  CHECK(finished.code == 2);
  CHECK(data_of(finished.out).is_null());
  CHECK(finished.err.find("gptq: needs calibration data") != std::string::npos);
}

TEST_CASE("eval: --tokenizer bytes reads any text, and text needs a tokenizer", "[regression]") {
  const SmallCase small;
  const json bytes = quench_json(small.eval({"--metric", small.metric()}));
  CHECK(bytes.at("records").at(0).at("details").at("tokens") == 2000);  // one id a byte
  const Finished finished = run_quench({"eval", small.model().string(), "--plugin-path",
                                        template_plugins().string(), "--metric", small.metric()});
  CHECK(finished.code == 1);
  CHECK(finished.err.find("has no file of a tokenizer") != std::string::npos);
}

}  // namespace quench::test
