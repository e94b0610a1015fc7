// Rotations as QuaRot has them on trained fixture models of every family: the function stays, heads
// and inputs are refused one by one, and inputs of 4 bits bear outlying channels.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/regression/short_text.hpp"

namespace quench::test::rotations {

TEST_CASE("rotations: inputs that are rotated and not rounded leave every family's loss",
          "[regression][rotations]") {
  const ShortText text;
  for (const auto& [dtype, bound] :
       std::map<std::string, double>{{"float64", 1e-12}, {"float32", 1e-5}}) {
    const auto records = text.run(kFixtureFamilies,
                                  "  - activations: {activations: float, rotate: all}\n"
                                  "    label: all\n"
                                  "  - activations: {activations: float, rotate: inner}\n"
                                  "    label: inner\n",
                                  dtype);
    for (const std::string& model : kFixtureFamilies) {
      CAPTURE(model, dtype);
      const double float_loss = loss_of(records.at(model + "/float"));
      for (const std::string label : {"all", "inner"}) {
        const nlohmann::json& record = records.at(model + "/" + label);
        CHECK(std::fabs(loss_of(record) - float_loss) < bound);
        if (dtype == "float32") {  // float64's rounding vanishes in the mean over tokens
          CHECK(loss_of(record) != float_loss);
        }
        size_t rotated = 0;
        for (const nlohmann::json& layer : record.at("details").at("layers")) {
          rotated += layer.contains("rotation") ? 1 : 0;
        }
        const size_t layers = record.at("details").at("layers").size();
        CHECK((label == "all" ? rotated == layers : rotated > 0 && rotated < layers));
      }
    }
  }
}

// The host's bound on logits in float64 is 1e-11 of their size.
TEST_CASE("rotations: heads and the stream are rotated together where a family lets them",
          "[regression][rotations]") {
  const ShortText text;
  for (const bool stream : {true, false}) {
    const std::vector<std::string> models =
        stream ? std::vector<std::string>{"apertus", "gpt_neox-small", "llama", "olmo-tied"}
               : std::vector<std::string>{"gpt_neox-seq", "olmo2", "opensci", "smollm3"};
    const auto records =
        text.run(models,
                 "  - rtn: {bits: 8, rotate: " + std::string(stream ? "inner" : "all") +
                     "}\n    label: whole\n    transform: {rotation: {" +
                     (stream ? "" : "stream: false, ") + "head_size: 16}}\n",
                 "float64");
    for (const std::string& model : models) {
      CAPTURE(model);
      const nlohmann::json& record = records.at(model + "/whole");
      CHECK(loss_of(record) == Approx(loss_of(records.at(model + "/float"))).epsilon(2e-3));
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
}

TEST_CASE("rotations: what a family has no place for fails its cell alone, in one line",
          "[regression][rotations]") {
  const ShortText text;
  std::string quantizers = "  - rtn: {bits: 8}\n    label: plain\n";
  for (const auto& [label, transform] :
       std::map<std::string, std::string>{{"heads of 12", "{rotation: {head_size: 12}}"},
                                          {"heads of 32", "{rotation: {head_size: 32}}"},
                                          {"heads of 16", "{rotation: {head_size: 16}}"}}) {
    quantizers +=
        "  - rtn: {bits: 8}\n    label: " + label + "\n    transform: " + transform + "\n";
  }
  const auto records = text.run({"llama", "olmo-clip", "olmo2"}, quantizers);
  const auto error = [&](const std::string& cell) {
    REQUIRE(records.at(cell).at("error").is_string());
    const std::string said = records.at(cell).at("error");
    CHECK(said.find('\n') == std::string::npos);
    return said;
  };
  CHECK_THAT(error("llama/heads of 12"),
             Catch::Contains("model.layers.0.self_attn.o_proj: head_size = 12 does not divide its "
                             "64 input columns"));
  // A size that divides the columns but is no head's: the host finds what it breaks.
  CHECK_THAT(error("llama/heads of 32"),
             Catch::Contains("model.layers.0.self_attn.o_proj (heads of 32 rotated) changes what "
                             "the float model computes"));
  // Its values are clamped between v and o.
  CHECK_THAT(error("olmo-clip/heads of 16"),
             Catch::Contains("(heads of 16 rotated) changes what the float model computes"));
  CHECK_THAT(error("olmo2/heads of 16"),
             Catch::Contains("a quantizer's rotate = all rotates its inputs instead"));
  for (const char* fine : {"llama/heads of 16", "llama/plain", "olmo-clip/plain", "olmo2/plain"}) {
    CHECK(loss_of(records.at(fine)) > 0);
  }
}

TEST_CASE("rotations: 4 bits of weights and inputs bear outlying channels if these are rotated",
          "[regression][rotations]") {
  const ShortText text;
  const std::vector<std::string> models = {"llama", "opensci", "smollm3"};
  const std::string all = "  - rtn: {bits: 4, group_size: -1, activations: int4";
  const auto records =
      text.run(models, all + "}\n    label: planted\n    transform: planted_outliers\n" + all +
                           ", rotate: all}\n    label: rotated\n    transform: planted_outliers\n" +
                           all + ", rotate: all, rotate_draw: 1}\n    label: drawn again\n" +
                           "    transform: planted_outliers\n");
  for (const std::string& model : models) {
    const double float_loss = loss_of(records.at(model + "/float"));
    const double planted = loss_of(records.at(model + "/planted")) - float_loss;
    const double rotated = loss_of(records.at(model + "/rotated")) - float_loss;
    const double again = loss_of(records.at(model + "/drawn again")) - float_loss;
    CAPTURE(model, float_loss, planted, rotated, again);
    CHECK(planted > 0);
    CHECK(rotated < 0.5 * planted);
    CHECK(again < 0.5 * planted);
    CHECK(again != rotated);
  }
}

// GPTQ's Hessian is of rotated rows, so its errors are those of the rotated linear; on trained
// weights it beats rounding there, as it does without a rotation.
TEST_CASE("rotations: gptq errs less than rounding after them, and awq no more",
          "[regression][rotations]") {
  const ShortText text;
  const std::string after = "    calibration: text\n    transform: {rotation: {head_size: 16}}\n";
  const auto records =
      text.run({"llama"},
               "  - rtn: {bits: 3, group_size: 32, rotate: inner}\n    label: rtn\n" + after +
                   "  - gptq: {bits: 3, group_size: 32, rotate: inner}\n    label: gptq\n" + after +
                   "  - awq: {bits: 3, group_size: 32, rotate: inner}\n    label: awq\n" + after);
  CHECK(loss_of(records.at("llama/gptq")) < loss_of(records.at("llama/rtn")));
  const auto error_of = [&](const char* label, const std::string& role) {
    double sum = 0;
    for (const nlohmann::json& layer :
         records.at(std::string("llama/") + label).at("details").at("layers")) {
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
  for (const nlohmann::json& layer : records.at("llama/awq").at("details").at("layers")) {
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
  const ShortText text;
  const Finished finished = run_quench({"quantize", fixture("models/llama").string(), "--quantizer",
                                        "rtn:bits=4,group_size=16,rotate=inner", "--format", "gptq",
                                        "-o", (folder / "out").string()});
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
