#include <catch2/catch.hpp>

#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"

namespace quench::test {

namespace {

TinyLlama olmo() {
  TinyLlama model;
  model.model_type = "olmo";
  model.layer_norm_without_weights = true;
  return model;
}

}  // namespace

TEST_CASE("olmo: trained models give the reference's numbers", "[models][olmo]") {
  matches_reference(GENERATE("olmo-clip", "olmo-tied"));
}

TEST_CASE("olmo: 16 bits are as far from float32 as in the reference", "[models][olmo]") {
  matches_reference_in_16_bits(GENERATE("olmo-clip", "olmo-tied"));
}

TEST_CASE("olmo: the forward is that of plain float64 loops", "[models][olmo]") {
  TinyLlama model = olmo();
  SECTION("as published") {}
  SECTION("with clamped q, k, v") {
    model.clip = 0.75;
    model.kv_heads = 2;
  }
  SECTION("with biases") {
    model.attention_bias = true;
    model.clip = 1.25;
  }
  matches_plain_loops(model);
}

TEST_CASE("olmo: the epsilon of the norms is 1e-5, whatever the model", "[models][olmo]") {
  reads_its_epsilon(olmo());
}

TEST_CASE("olmo: configs that the library saved are understood", "[models][olmo]") {
  TinyLlama model = olmo();
  model.blocks = 4;
  model.theta = 500.0;
  model.clip = 0.75;
  reads_saved_configs(model);
}

TEST_CASE("olmo: a norm without weights and a clamp absorb no scale", "[models][olmo]") {
  TinyLlama model = olmo();
  SECTION("without clamp") {
    absorbs_scales(model, {0, 1, 0, 1});
  }
  SECTION("clamped") {
    model.clip = 0.75;
    absorbs_scales(model, {0, 0, 0, 1});
  }
}

TEST_CASE("olmo: a tied head is the embedding", "[models][olmo]") {
  ties_its_head(olmo());
}

TEST_CASE("olmo: a config that cannot be is refused by key", "[models][olmo]") {
  refuses(olmo(), "clip_qkv", 0.0, "clip_qkv = 0, wanted more than 0");
  refuses(olmo(), "clip_qkv", "none", "clip_qkv");
  refuses(olmo(), "rms_norm_eps", 1e-6, "rms_norm_eps: not understood");
  refuses(olmo(), "mlp_bias", true, "mlp_bias: not understood");
  refuses(olmo(), "model_type", "olmo2", "model_type olmo2, wanted olmo");
}

TEST_CASE("olmo: a norm with weights is not OLMo's", "[models][olmo]") {
  TinyLlama model = olmo();
  model.draw();
  MemorySource source;
  model.store(source);
  source.add("model.norm.weight", {24}, std::vector<double>(24, 1.0), kit::kFloat32);
  CHECK_THROWS_WITH(ModelDriver(model.config().dump(), source, kit::kFloat32),
                    Catch::Contains("unexpected model.norm.weight"));
}

TEST_CASE("olmo: gradients are those of central differences", "[models][olmo]") {
  TinyLlama model = olmo();
  SECTION("as published") {}
  SECTION("with clamped q, k, v") {
    model.clip = 0.75;
  }
  differentiates(model);
}

TEST_CASE("olmo: the number of threads changes no bit", "[models][olmo]") {
  same_for_threads(olmo());
}

TEST_CASE("olmo: a model without a checkpoint is drawn as in the reference", "[models][olmo]") {
  nlohmann::json config = olmo().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("olmo: an op changes its keys and values", "[models][olmo]") {
  lets_an_op_change_keys_and_values(olmo());
}

}  // namespace quench::test
