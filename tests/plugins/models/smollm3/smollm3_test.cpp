#include <catch2/catch.hpp>

#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

TinyLlama smollm3() {
  TinyLlama model;
  model.model_type = "smollm3";
  model.blocks = 4;
  model.kv_heads = 2;
  model.tied = true;
  model.theta = 5e6;
  model.rotated = {1, 0, 1, 1};
  return model;
}

}  // namespace

TEST_CASE("smollm3: a trained model gives the reference's numbers", "[models][smollm3]") {
  matches_reference("smollm3");
}

TEST_CASE("smollm3: 16 bits are as far from float32 as in the reference", "[models][smollm3]") {
  matches_reference_in_16_bits("smollm3");
}

TEST_CASE("smollm3: the forward is that of plain float64 loops", "[models][smollm3]") {
  TinyLlama model = smollm3();
  SECTION("with rotary positions in some blocks") {}
  SECTION("with biases, and rotary positions nowhere") {
    model.rotated = {0, 0, 0, 0};
    model.attention_bias = true;
    model.mlp_bias = true;
  }
  matches_plain_loops(model);
}

TEST_CASE("smollm3: the epsilon of the norms is the config's", "[models][smollm3]") {
  reads_its_epsilon(smollm3());
}

TEST_CASE("smollm3: configs that the library saved are understood", "[models][smollm3]") {
  TinyLlama model = smollm3();
  model.theta = 500.0;
  model.rotated = {1, 1, 1, 0};
  reads_saved_configs(model);
}

TEST_CASE("smollm3: shared key heads absorb no scale", "[models][smollm3]") {
  absorbs_scales(smollm3(), {1, 0, 1, 1});
}

TEST_CASE("smollm3: a tied head is the embedding", "[models][smollm3]") {
  ties_its_head(smollm3());
}

TEST_CASE("smollm3: every fourth block is without rotary positions unless listed",
          "[models][smollm3]") {
  TinyLlama model = smollm3();
  model.rotated = {1, 1, 1, 0};
  model.draw();
  MemorySource source;
  model.store(source);
  json config = model.config();
  const std::vector<double> wanted = logits_of(model, config, source);
  config["no_rope_layer_interval"] = 2;  // the list counts
  CHECK(differences(logits_of(model, config, source), wanted) == "");
  config.erase("no_rope_layers");
  config["no_rope_layer_interval"] = 4;
  CHECK(differences(logits_of(model, config, source), wanted) == "");
  config.erase("tie_word_embeddings");  // tied where nothing is said
  CHECK(differences(logits_of(model, config, source), wanted) == "");
  config["no_rope_layer_interval"] = 2;
  CHECK(logits_of(model, config, source) != wanted);
}

TEST_CASE("smollm3: a config that cannot be is refused by key", "[models][smollm3]") {
  const TinyLlama model = smollm3();
  refuses(model, "use_sliding_window", true, "use_sliding_window true");
  refuses(model, "layer_types", {"full_attention", "sliding_attention"},
          "layer_types: sliding_attention");
  refuses(model, "no_rope_layers", {1, 0, 1}, "wanted a list of 4 numbers");
  refuses(model, "no_rope_layers", {1, 0, 1, 2}, "no_rope_layers: 2, wanted 0 or 1");
  refuses(model, "no_rope_layers", nullptr, "no_rope_layer_interval is missing");
  requires_key(model, "rope_theta");
}

TEST_CASE("smollm3: each stage of training has its own rope_theta", "[models][smollm3]") {
  TinyLlama model = smollm3();
  model.theta = GENERATE(10000.0, 1.5e6, 5e6);
  model.draw();
  MemorySource source;
  model.store(source);
  const Tokens tokens = model.some_tokens(1, 11);
  ModelDriver driver(model.config().dump(), source, kit::kFloat64);
  const std::vector<double> logits = doubles(driver.logits(driver.forward(tokens)));
  CHECK(distance(logits, model.logits(tokens)) < 1e-5);
  model.theta = 2e6;  // the library's default
  CHECK(distance(logits, model.logits(tokens)) > 1e-4);
}

TEST_CASE("smollm3: the size of a window that is not used says nothing", "[models][smollm3]") {
  TinyLlama model = smollm3();
  model.draw();
  MemorySource source;
  model.store(source);
  json config = model.config();
  config["sliding_window"] = 128;
  config["use_sliding_window"] = false;
  config["max_window_layers"] = 28;
  CHECK_NOTHROW(ModelDriver(config.dump(), source, kit::kFloat32));
}

TEST_CASE("smollm3: gradients are those of central differences", "[models][smollm3]") {
  differentiates(smollm3());
}

TEST_CASE("smollm3: the number of threads changes no bit", "[models][smollm3]") {
  same_for_threads(smollm3());
}

TEST_CASE("smollm3: a model without a checkpoint is drawn as in the reference",
          "[models][smollm3]") {
  nlohmann::json config = smollm3().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("smollm3: an op changes its keys and values", "[models][smollm3]") {
  lets_an_op_change_keys_and_values(smollm3());
}

}  // namespace quench::test
