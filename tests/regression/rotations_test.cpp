// Rotations as QuaRot has them on trained fixture models of every family: the function stays, heads
// and inputs are refused one by one, and inputs of 4 bits bear outlying channels.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test::rotations {

namespace {

const std::vector<std::string> kModels = {"apertus", "gpt_neox-seq", "gpt_neox-small",
                                          "llama",   "olmo-clip",    "olmo-tied",
                                          "olmo2",   "opensci",      "smollm3"};
constexpr int kBlock = 64;

// A few thousand characters that no fixture was trained on, in a file.
class RotationText {
 public:
  RotationText()
      : file_(folder_.write("text.txt", read_file(public_data("text/tinyshakespeare.txt"))
                                            .substr(ValidationText::kFrom, 6000))) {}
  std::string path() const { return file_.string(); }

  // Records by label; "float" is the float model's. `quantizers` are entries of a manifest.
  std::map<std::string, nlohmann::json> run(const std::string& model, const std::string& quantizers,
                                            const std::string& dtype = "float32") const {
    const TemporaryDir folder;
    const auto manifest = folder.write(
        "manifest.yaml",
        "dtype: " + dtype + "\ncheckpoints: {model: " + fixture("models/" + model).string() +
            "}\ncalibration:\n  text: {corpus: text, sequences: 8, length: 64, packing: concat}\n" +
            "quantizers:\n" + quantizers + "metrics:\n  - validation_loss: {corpus: text, block: " +
            std::to_string(kBlock) + "}\ncorpora:\n  text: {text: {path: " + path() + "}}\n");
    const std::filesystem::path home = folder / "home";
    make_home(home);
    const Finished finished =
        run_quench({"run", manifest.string(), "--out", (folder / "results").string(), "--json",
                    "--plugin-path", test_plugins().string()},
                   {{"QUENCH_HOME", home.string()}});
    INFO(finished.err);
    REQUIRE((finished.code == 0 || finished.code == 1));  // 1: a cell failed
    std::map<std::string, nlohmann::json> out;
    for (const nlohmann::json& record : records_of(data_of(finished.out), "validation_loss")) {
      const nlohmann::json& quantizer = record.at("quantizer");
      out[quantizer.is_null() ? "float" : quantizer.at("label").get<std::string>()] = record;
    }
    return out;
  }

 private:
  TemporaryDir folder_;
  std::filesystem::path file_;
};

double loss_of(const nlohmann::json& record) {
  INFO(record.dump());
  REQUIRE(record.at("error").is_null());
  return record.at("value");
}

}  // namespace

TEST_CASE("rotations: inputs that are rotated and not rounded leave every family's loss",
          "[regression][rotations]") {
  const RotationText text;
  for (const std::string& model : kModels) {
    for (const auto& [dtype, bound] :
         std::map<std::string, double>{{"float64", 1e-12}, {"float32", 1e-5}}) {
      CAPTURE(model, dtype);
      const auto records = text.run(model,
                                    "  - activations: {activations: float, rotate: all}\n"
                                    "    label: all\n"
                                    "  - activations: {activations: float, rotate: inner}\n"
                                    "    label: inner\n",
                                    dtype);
      const double float_loss = loss_of(records.at("float"));
      for (const char* label : {"all", "inner"}) {
        const double loss = loss_of(records.at(label));
        CHECK(std::fabs(loss - float_loss) < bound);
        CHECK(loss != float_loss);  // ops stood in the model
      }
    }
  }
}

// Host's bound on logits in float64: 1e-11 of their size.
TEST_CASE("rotations: heads and the stream are rotated together where a family lets them",
          "[regression][rotations]") {
  const RotationText text;
  for (const auto& [model, stream] : std::map<std::string, bool>{{"apertus", true},
                                                                 {"gpt_neox-small", true},
                                                                 {"gpt_neox-seq", false},
                                                                 {"llama", true},
                                                                 {"olmo-tied", true},
                                                                 {"olmo2", false},
                                                                 {"opensci", false},
                                                                 {"smollm3", false}}) {
    CAPTURE(model);
    const std::string how = stream ? "" : "stream: false, ";
    const auto records =
        text.run(model,
                 "  - rtn: {bits: 8, rotate: " + std::string(stream ? "inner" : "all") +
                     "}\n    label: whole\n    transform: {rotation: {" + how + "head_size: 16}}\n",
                 "float64");
    const nlohmann::json& record = records.at("whole");
    CHECK(loss_of(record) == Approx(loss_of(records.at("float"))).epsilon(2e-3));
    const nlohmann::json& transform = record.at("details").at("transform");
    CHECK(transform.at("logit_distance").get<double>() < 1e-11);
    CHECK(transform.at("logit_distance").get<double>() > 0);
    size_t heads = 0;
    for (const nlohmann::json& change : transform.at("changes")) {
      heads += change.at("how") == "heads of 16 rotated" ? 1 : 0;
    }
    CHECK(heads + (stream ? 1 : 0) == transform.at("changes").size());
    CHECK(heads >= 2);
  }
}

TEST_CASE("rotations: what a family has no place for fails its cell alone, in one line",
          "[regression][rotations]") {
  const RotationText text;
  const auto error = [&](const std::string& model, const std::string& transform) {
    const auto records =
        text.run(model, "  - rtn: {bits: 8}\n    label: turned\n    transform: " + transform +
                            "\n  - rtn: {bits: 8}\n    label: plain\n");
    CHECK(loss_of(records.at("plain")) > 0);
    REQUIRE(records.at("turned").at("error").is_string());
    const std::string said = records.at("turned").at("error");
    CHECK(said.find('\n') == std::string::npos);
    return said;
  };
  CHECK_THAT(error("llama", "{rotation: {head_size: 12}}"),
             Catch::Contains("model.layers.0.self_attn.o_proj: head_size = 12 does not divide its "
                             "64 input columns"));
  // A size that divides the columns but is no head's: the host finds what it breaks.
  CHECK_THAT(error("llama", "{rotation: {head_size: 32}}"),
             Catch::Contains("model.layers.0.self_attn.o_proj (heads of 32 rotated) changes what "
                             "the float model computes"));
  // Its values are clamped between v and o.
  CHECK_THAT(error("olmo-clip", "{rotation: {head_size: 16}}"),
             Catch::Contains("(heads of 16 rotated) changes what the float model computes"));
  CHECK_THAT(error("olmo2", "rotation"),
             Catch::Contains("a quantizer's rotate = all rotates its inputs instead"));
}

TEST_CASE("rotations: 4 bits of weights and inputs bear outlying channels if these are rotated",
          "[regression][rotations]") {
  const RotationText text;
  for (const char* model : {"llama", "opensci", "smollm3"}) {
    CAPTURE(model);
    const std::string all = "  - rtn: {bits: 4, group_size: -1, activations: int4";
    const auto records = text.run(
        model, all + "}\n    label: planted\n    transform: planted_outliers\n" + all +
                   ", rotate: all}\n    label: rotated\n    transform: planted_outliers\n" + all +
                   ", rotate: all, rotate_draw: 1}\n    label: drawn again\n" +
                   "    transform: planted_outliers\n");
    const double float_loss = loss_of(records.at("float"));
    const double planted = loss_of(records.at("planted")) - float_loss;
    const double rotated = loss_of(records.at("rotated")) - float_loss;
    const double again = loss_of(records.at("drawn again")) - float_loss;
    CAPTURE(float_loss, planted, rotated, again);
    CHECK(rotated < 0.5 * planted);
    CHECK(again < 0.5 * planted);
    CHECK(again != rotated);
  }
}

// GPTQ's Hessian is of rotated rows, so its errors are those of the rotated linear; on trained
// weights it beats rounding there, as it does without a rotation.
TEST_CASE("rotations: gptq errs less than rounding after them, and awq no more",
          "[regression][rotations]") {
  const RotationText text;
  const std::string after = "    calibration: text\n    transform: {rotation: {head_size: 16}}\n";
  const auto records = text.run(
      "llama", "  - rtn: {bits: 3, group_size: 32, rotate: inner}\n    label: rtn\n" + after +
                   "  - gptq: {bits: 3, group_size: 32, rotate: inner}\n    label: gptq\n" + after +
                   "  - awq: {bits: 3, group_size: 32, rotate: inner}\n    label: awq\n" + after);
  CHECK(loss_of(records.at("gptq")) < loss_of(records.at("rtn")));
  const auto error_of = [&](const char* label, const std::string& role) {
    double sum = 0;
    for (const nlohmann::json& layer : records.at(label).at("details").at("layers")) {
      if (layer.at("name").get<std::string>().find(role) != std::string::npos) {
        CHECK(layer.contains("rotation") == (role == "down_proj" || role == "o_proj"));
        sum += layer.at("relative_error").get<double>();
      }
    }
    return sum;
  };
  for (const std::string role : {"down_proj", "o_proj", "up_proj"}) {
    CAPTURE(role);
    CHECK(error_of("gptq", role) < error_of("rtn", role));
    CHECK(error_of("awq", role) < 1.05 * error_of("rtn", role));
  }
  for (const nlohmann::json& layer : records.at("awq").at("details").at("layers")) {
    const std::string name = layer.at("name");
    if (name.find("down_proj") != std::string::npos) {
      CHECK(layer.at("channel_scaling") ==
            "explicit");  // nothing absorbs a rotated channel's scale
    }
  }
}

TEST_CASE("rotations: codes of rotated weights are not written to a file",
          "[regression][rotations]") {
  const TemporaryDir folder;
  const RotationText text;
  const Finished finished =
      run_quench({"quantize", fixture("models/llama").string(), "--quantizer",
                  "rtn:bits=4,rotate=inner", "--format", "gptq", "-o", (folder / "out").string()});
  CHECK(finished.code != 0);
  CHECK_THAT(finished.err,
             Catch::Contains("the quantizer does more to a weight than a file holds"));
}

TEST_CASE("rotations: frontier_tiny is planned without a problem", "[regression][rotations]") {
  const TemporaryDir folder;
  const nlohmann::json plan =
      quench_json({"plan", (source_dir() / "configs/experiments/frontier_tiny.yaml").string(),
                   "--out", (folder / "run").string()});
  CHECK(plan.dump().find("frontier_tiny") != std::string::npos);
}

}  // namespace quench::test::rotations
