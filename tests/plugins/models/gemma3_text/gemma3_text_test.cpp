#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "quench/kit/scalar.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/saved_family.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// The model of the reference as the text part of one that sees images.
struct WithImages {
  explicit WithImages(const std::string& prefix, const std::string& inner = "model.")
      : saved("gemma3_text") {
    for (const std::string& name : saved.weights.names()) {
      const std::string rest = name.substr(std::string("model.").size());
      weights.add(prefix + inner + rest, saved.weights.shape(name), saved.weights.values(name),
                  kit::kFloat16);
    }
    const std::vector<double> none(6);
    const std::string at = inner.empty() ? "model." : "";
    weights.add(at + "vision_tower.patch.weight", {2, 3}, none, kit::kFloat16);
    weights.add(at + "vision_tower.patch.bias", {6}, none, kit::kFloat16);
    weights.add(at + "multi_modal_projector.norm.weight", {6}, none, kit::kFloat16);
    config = {{"architectures", {"Gemma3ForConditionalGeneration"}},
              {"model_type", "gemma3"},
              {"image_token_index", 31},
              {"mm_tokens_per_image", 4},
              {"text_config", saved.notes.at("configs").at("4.57.6")},
              {"vision_config", {{"model_type", "siglip_vision_model"}, {"hidden_size", 12}}}};
  }

  SavedFamily saved;
  MemorySource weights;
  nlohmann::json config;
};

}  // namespace

TEST_CASE("gemma3_text: logits, loss and gradient are the reference's", "[models][gemma3_text]") {
  SECTION("on the processor's kernels") {
    matches_transformers("gemma3_text");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    matches_transformers("gemma3_text");
  }
}

TEST_CASE("gemma3_text: parameters have the names of the library's files",
          "[models][gemma3_text]") {
  has_the_names_of("gemma3_text");
}

TEST_CASE("gemma3_text: gradients are those of central differences", "[models][gemma3_text]") {
  SECTION("on the processor's kernels") {
    differentiates_saved("gemma3_text");
  }
  SECTION("by libtorch alone, as on a GPU") {
    const matrix::LibtorchAlone as_on_a_gpu;
    differentiates_saved("gemma3_text");
  }
}

TEST_CASE("gemma3_text: block by block it has the gradient that it has as a whole",
          "[models][gemma3_text]") {
  differentiates_saved_by_block("gemma3_text");
}

TEST_CASE("gemma3_text: the text part of a model with images is that model alone",
          "[models][gemma3_text]") {
  const auto [prefix, inner] = GENERATE(table<std::string, std::string>(
      {{"language_model.", "model."}, {"model.language_model.", ""}}));
  const WithImages model(prefix, inner);
  ModelDriver driver(model.config.dump(), model.weights, kit::kFloat64);
  ModelDriver alone(model.saved.config(), model.saved.weights, kit::kFloat64);
  const Tokens& tokens = model.saved.tokens;
  CHECK(doubles(driver.logits(driver.forward(tokens, Storage::kShared))) ==
        doubles(alone.logits(alone.forward(tokens, Storage::kShared))));
  const std::string block = prefix + inner + "layers.0.";
  CHECK(driver.block(0).groups[0].linears[0].weight == block + "self_attn.q_proj.weight");
  for (const quench_parameter_info& info : driver.parameter_infos()) {
    CAPTURE(info.name);
    CHECK_NOTHROW(model.weights.values(info.name));
  }
  const std::string at = inner.empty() ? "model." : "";
  const std::vector<std::string> log = logged();
  CHECK(std::count(log.begin(), log.end(),
                   "the text part alone is read; left out: tensors of " + at +
                       "multi_modal_projector (1), " + at + "vision_tower (2)") == 1);
}

TEST_CASE("gemma3_text: a text part has what is usual where it says nothing",
          "[models][gemma3_text]") {
  WithImages model("language_model.");
  nlohmann::json& text = model.config.at("text_config");
  // As published: these, and no more than the sizes that differ from the usual ones.
  text.erase("rms_norm_eps");
  text.erase("model_type");
  CHECK_NOTHROW(ModelDriver(model.config.dump(), model.weights, kit::kFloat32));
  text.erase("head_dim");
  CHECK_THROWS_WITH(ModelDriver(model.config.dump(), model.weights, kit::kFloat32),
                    Catch::Contains("wanted [16, 1024]"));  // 4 heads of 256
}

TEST_CASE("gemma3_text: keys beside a text part that are not known are refused",
          "[models][gemma3_text]") {
  WithImages model("language_model.");
  model.config["audio_config"] = nlohmann::json::object({{"hidden_size", 3}});
  CHECK_THROWS_WITH(ModelDriver(model.config.dump(), model.weights, kit::kFloat32),
                    Catch::Contains("config: audio_config: not understood"));
  model.config.erase("audio_config");
  model.weights.remove("language_model.model.norm.weight");
  CHECK_THROWS_WITH(ModelDriver(model.config.dump(), model.weights, kit::kFloat32),
                    Catch::Contains("missing language_model.model.norm.weight"));
}

TEST_CASE("gemma3_text: a config that cannot be is refused by key", "[models][gemma3_text]") {
  const SavedFamily saved("gemma3_text");
  saved.refuses("attn_logit_softcapping", 50.0, "this family does not have it");
  saved.refuses("hidden_activation", "silu", "hidden_activation silu");
}

TEST_CASE("gemma3_text: an op changes its keys and values", "[models][gemma3_text]") {
  lets_an_op_change_keys_and_values_of_saved("gemma3_text");
}

}  // namespace quench::test
