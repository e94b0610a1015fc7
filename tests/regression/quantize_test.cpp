// `quench quantize`: what is written is what was measured, and reads back so.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

// A small model and a text for it, of which nothing is reference data.
class Scene {
 public:
  Scene() {
    fs::create_directories(model());
    write_template_checkpoint(model());
    std::string words;
    for (int i = 0; words.size() < 6000; ++i) {
      words += "line " + std::to_string(i * 7919 % 1000) + "\n";
    }
    folder_.write("t.txt", words);
  }
  fs::path model() const { return folder_ / "model"; }
  fs::path text() const { return folder_ / "t.txt"; }
  fs::path out() const { return folder_ / "out"; }
  std::string metric() const { return "validation_loss:text=" + text().string() + ",block=16"; }
  std::vector<std::string> quantize(const std::string& quantizer, const std::string& format) const {
    return {"quantize",    model().string(), "--plugin-path", template_plugins().string(),
            "--quantizer", quantizer,        "--format",      format,
            "-o",          out().string(),   "--metric",      metric(),
            "--tokenizer", "bytes"};
  }
  // A manifest that exports rtn of 3 and of 4 bits as awq, which holds 4.
  fs::path manifest() const {
    return manifest(
        "  - rtn: {bits: [3, 4], group_size: 16}\n"
        "    export: awq\n");
  }
  fs::path manifest(const std::string& quantizers) const {
    return folder_.write("m.yaml",
                         "name: m\n"
                         "checkpoints: {model: model, tokenizer: bytes}\n"
                         "quantizers:\n" +
                             quantizers +
                             "metrics:\n"
                             "  - validation_loss: {corpus: v, block: 16}\n"
                             "corpora: {v: {text: {path: t.txt}}}\n");
  }
  std::vector<std::string> of_manifest(const std::string& command) const {
    std::vector<std::string> out = {command, manifest().string(), "--plugin-path",
                                    template_plugins().string()};
    if (command == "run") {
      out.insert(out.end(), {"--out", run().string()});
    }
    return out;
  }
  fs::path run() const { return folder_ / "run"; }
  // The folders of weights that the run wrote.
  std::vector<fs::path> exports() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(run() / "exports")) {
      if (entry.path().filename() == "config.json") {
        out.push_back(entry.path().parent_path());
      }
    }
    return out;
  }
  std::map<std::string, std::string> home() const {
    return {{"QUENCH_HOME", (folder_ / "home").string()}};
  }
  nlohmann::json eval(const fs::path& model) const {
    return quench_json({"eval", model.string(), "--plugin-path", template_plugins().string(),
                        "--metric", metric(), "--tokenizer", "bytes"})
        .at("records")
        .at(0);
  }

 private:
  TemporaryDir folder_;
};

}  // namespace

TEST_CASE("quantize: the written folder has the loss that was measured, in every format",
          "[regression][quantize]") {
  const auto [quantizer, format] = GENERATE(table<std::string, std::string>({
      {"rtn:bits=4,group_size=16", "gptq"},
      {"rtn:bits=3,group_size=-1", "gptq"},
      {"rtn:bits=4,group_size=16,sym=false", "gptq_v2"},
      {"rtn:bits=4,group_size=16,sym=false", "awq"},
      {"rtn:bits=8,group_size=-1", "bnb_int8"},
      {"rtn:bits=3,group_size=16", "compressed-tensors"},
      {"rtn:format=nvfp4", "compressed-tensors"},
      {"rtn:format=mxfp4", "compressed-tensors"},
      {"rtn:format=mxfp6_e2m3", "compressed-tensors"},
      {"rtn:format=mxfp8_e4m3", "compressed-tensors"},
      {"rtn:format=fp8_e4m3,group_size=-1", "compressed-tensors"},
      {"rtn:format=fp8_e4m3,group_size=16", "compressed-tensors"},
      {"rtn:format=nvfp4,mse=2", "compressed-tensors"},
      {"rtn:format=mxfp4,mse=2", "compressed-tensors"},
      {"rtn:format=fp8_e4m3,group_size=16,mse=2", "compressed-tensors"},
      {"rtn:bits=5,group_size=16", "template_format"},  // of somebody else
      {"nf4:block=64", "template_format"},              // looked up, in blocks across rows
  }));
  CAPTURE(quantizer, format);
  const Scene scene;
  const nlohmann::json made = quench_json(scene.quantize(quantizer, format));
  const nlohmann::json& loss = made.at("metrics").at(0);
  CHECK(loss.at("quantized") != loss.at("float"));
  const nlohmann::json record = scene.eval(scene.out());
  CHECK(record.at("value") == loss.at("quantized"));  // to the last bit
  CHECK(record.at("checkpoint").at("stored").at("format") == format);
  CHECK(scene.eval(scene.model()).at("value") == loss.at("float"));
  CHECK_FALSE(scene.eval(scene.model()).at("checkpoint").contains("stored"));
}

TEST_CASE("quantize: what a format cannot hold is refused before anything is read or written",
          "[regression][quantize]") {
  const auto [quantizer, format, fault] = GENERATE(table<std::string, std::string, std::string>({
      {"rtn:bits=3,group_size=16", "awq", "3 bits; awq holds 4"},
      {"rtn:bits=4,group_size=16,sym=false", "gptq", "an asymmetric grid; gptq"},
      {"rtn:bits=8,group_size=16", "bnb_int8", "groups of 16; bnb_int8 has one scale for a row"},
      {"rtn:bits=4,group_size=12", "awq", "32 input columns; awq wants a multiple of the group"},
      {"rtn:bits=4", "gguf", "format gguf is only read"},
  }));
  const Scene scene;
  const Finished finished = run_quench(scene.quantize(quantizer, format));
  CHECK(finished.code == 2);
  CHECK(finished.err.find(fault) != std::string::npos);
  CHECK_FALSE(fs::exists(scene.out()));
}

TEST_CASE("quantize: gptq in a number format has the loss that was measured",
          "[regression][quantize]") {
  const std::string number_format = GENERATE("nvfp4", "mxfp4", "fp8_e4m3");
  CAPTURE(number_format);
  const Scene scene;
  std::vector<std::string> arguments =
      scene.quantize("gptq:group_size=16,format=" + number_format, "compressed-tensors");
  if (number_format == "mxfp4") {  // of blocks of 32, which no group_size changes
    arguments.at(5) = "gptq:format=mxfp4";
  }
  arguments.insert(arguments.end(),
                   {"--calibration", "text=" + scene.text().string() + ",sequences=4,length=16"});
  const nlohmann::json made = quench_json(arguments);
  CHECK(made.at("scheme").at("bits") == (number_format == "fp8_e4m3" ? 8 : 4));
  const nlohmann::json record = scene.eval(scene.out());
  CHECK(record.at("value") == made.at("metrics").at(0).at("quantized"));
  CHECK(record.at("checkpoint").at("stored").at("layout") == made.at("scheme").at("layout"));
  // The two levels of nvfp4 are stored, not their products.
  const double change = made.at("details").at("stored").at("largest_scale_change");
  CHECK((change > 0) == (number_format == "nvfp4"));
  CHECK(change < 1.2e-7);
}

TEST_CASE("quantize: a number format without a layout is one line, and nothing is written",
          "[regression][quantize]") {
  const auto [quantizer, format, fault] = GENERATE(table<std::string, std::string, std::string>({
      {"rtn:format=ternary,group_size=16", "compressed-tensors", "a table of 3 values"},
      {"rtn:format=mxfp8_e5m2", "compressed-tensors", "no number of mxfp8-quantized"},
      {"rtn:format=nvfp4", "awq", "a table of values; the format holds integer grids"},
      {"rtn:format=fp8_e4m3,group_size=12", "compressed-tensors", "a multiple of the group_size"},
  }));
  CAPTURE(quantizer, format);
  const Scene scene;
  const Finished finished = run_quench(scene.quantize(quantizer, format));
  CHECK(finished.code == 1);
  CAPTURE(finished.err);
  const size_t last = finished.err.rfind('\n', finished.err.size() - 2) + 1;  // after the progress
  CHECK(finished.err.find(fault, last) != std::string::npos);
  CHECK_FALSE(fs::exists(scene.out()));
}

TEST_CASE("quantize, run: a format is asked before work, also where no parameter says the bits",
          "[regression][quantize]") {
  const Scene scene;
  const auto refused = [](std::vector<std::string> arguments, const std::string& fault) {
    arguments.insert(arguments.end(), {"--plugin-path", test_plugins().string()});
    const Finished finished = run_quench(arguments);
    CHECK(finished.code == 2);
    CAPTURE(finished.err);
    CHECK(finished.err.find(fault) != std::string::npos);
  };
  refused(scene.quantize("int8", "told"), "bits that no parameter names; told wants them");
  refused(scene.quantize("int8", "narrow"), "32 input columns (bits 0); narrow holds 16");
  CHECK_FALSE(fs::exists(scene.out()));
  std::vector<std::string> run = scene.of_manifest("run");
  scene.manifest(
      "  - int8: {}\n"
      "    export: told\n");
  refused(run, "export told: bits that no parameter names; told wants them");
  CHECK_FALSE(fs::exists(scene.run() / "exports"));
}

TEST_CASE("quantize: nothing is overwritten, and what is quantized already is refused",
          "[regression][quantize]") {
  const Scene scene;
  CHECK(run_quench(scene.quantize("rtn:bits=4,group_size=16", "gptq")).code == 0);
  const Finished again = run_quench(scene.quantize("rtn:bits=4,group_size=16", "gptq"));
  CHECK(again.code == 2);
  CHECK(again.err.find("already exists") != std::string::npos);
  std::vector<std::string> arguments = scene.quantize("rtn:bits=4,group_size=16", "gptq");
  arguments[1] = scene.out().string();
  arguments[9] = scene.out().string() + "2";
  const Finished twice = run_quench(arguments);
  CHECK(twice.code == 2);
  CHECK(twice.err.find("quantized already, as gptq") != std::string::npos);
}

TEST_CASE(
    "run: an export is written once and measured as written, and one that does not fit is refused",
    "[regression][quantize]") {
  const Scene scene;
  const nlohmann::json plan = quench_json(scene.of_manifest("plan"), scene.home());
  REQUIRE(plan.at("exports_refused").size() == 1);
  CHECK(plan.at("exports_refused").at(0).at("reason") == "awq: 3 bits; awq holds 4");
  const auto run = [&] {
    const Finished finished = run_quench(scene.of_manifest("run"), scene.home());
    CAPTURE(finished.err);
    CHECK(finished.code == 0);
  };
  run();
  const std::vector<fs::path> written = scene.exports();
  REQUIRE(written.size() == 1);
  CHECK(written[0].filename().string().find("bits=4") != std::string::npos);
  nlohmann::json stored;
  const nlohmann::json results = quench_json({"results", scene.run().string()}, scene.home());
  for (const nlohmann::json& record : results.at("records")) {
    if (record.at("metric") == "validation_loss" && !record.at("quantizer").is_null() &&
        record.at("quantizer").contains("stored")) {
      CHECK(stored.is_null());
      stored = record;
    }
  }
  CHECK(stored.at("quantizer").at("stored") == "awq");
  CHECK(scene.eval(written[0]).at("value") == stored.at("value"));
  fs::remove_all(written[0]);
  run();  // the value is known, the folder is owed
  CHECK(fs::exists(written[0] / "config.json"));
}

TEST_CASE("quantize: gptq keeps its order, and its losses with it", "[regression][quantize]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto ids = fixture("interchange/ids/calib_ids.safetensors");
  const auto evaluated = fixture("interchange/ids/eval_ids.safetensors");
  const std::string format = GENERATE("gptq", "compressed-tensors");
  const TemporaryDir folder;
  const std::string metric = "validation_loss:tokens=" + evaluated.string() + ",block=256";
  const nlohmann::json made = quench_json(
      {"quantize", model.string(), "--quantizer", "gptq:bits=4,group_size=128,desc_act=true",
       "--calibration", "tokens=" + ids.string() + ",sequences=8,length=256", "--format", format,
       "-o", (folder / "out").string(), "--metric", metric});
  const nlohmann::json loss = made.at("metrics").at(0);
  CHECK(made.at("scheme").at("ordered") == true);
  CHECK(made.at("details").at("stored").at("largest_scale_change").get<double>() < 0.0005);
  const nlohmann::json record =
      quench_json({"eval", (folder / "out").string(), "--metric", metric}).at("records").at(0);
  CHECK(record.at("value") == loss.at("quantized"));
  // Rounding scales to float16 costs far less than quantizing did.
  const nlohmann::json unstored = quench_json(
      {"eval", model.string(), "--quantizer", "gptq:bits=4,group_size=128,desc_act=true",
       "--calibration", "tokens=" + ids.string() + ",sequences=8,length=256", "--metric", metric});
  const double wide = records_of(unstored, "validation_loss").at(1).at("value");
  CHECK(std::abs(wide - loss.at("quantized").get<double>()) < 1e-3);
  CHECK(fs::exists(folder / "out/tokenizer.json"));
}

TEST_CASE("eval: folders of other tools have the loss of their reference", "[regression]") {
  const std::string name = GENERATE(
      "gptqmodel-4.2.5-w3-v1-descact", "gptqmodel-4.2.5-w4-v1-descact", "gptqmodel-7.7.0-w3-v1",
      "gptqmodel-7.7.0-w4-v1", "gptqmodel-7.7.0-awq-gemm", "llmcompressor-0.14.0.1-gptq-w4");
  const auto folder = fixture("interchange/" + name);
  const auto info = fixture("interchange/" + name + "-info.json");
  const auto ids = fixture("interchange/ids/eval_ids.safetensors");
  CAPTURE(name);
  const nlohmann::json document =
      quench_json({"eval", folder.string(), "--metric",
                   "validation_loss:tokens=" + ids.string() + ",block=256"});
  // The reference sums its loss in float32.
  CHECK(relative(document.at("records").at(0).at("value"), read_json(info).at("loss_q")) < 1e-6);
}

}  // namespace quench::test
