#include <catch2/catch.hpp>

#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"

namespace quench::test {

namespace {

TinyLlama olmo2() {
  TinyLlama model;
  model.model_type = "olmo2";
  model.norm_after_branch = true;
  model.head_norm = model.heads * model.head;
  model.attention_norm = "post_attention_layernorm";
  model.mlp_norm = "post_feedforward_layernorm";
  model.theta = 500000.0;
  model.eps = 1e-6;
  return model;
}

}  // namespace

TEST_CASE("olmo2: a trained model gives the reference's numbers", "[models][olmo2]") {
  matches_reference("olmo2");
}

TEST_CASE("olmo2: 16 bits are as far from float32 as in the reference", "[models][olmo2]") {
  matches_reference_in_16_bits("olmo2");
}

TEST_CASE("olmo2: the forward is that of plain float64 loops", "[models][olmo2]") {
  TinyLlama model = olmo2();
  model.kv_heads = GENERATE(4, 2);
  matches_plain_loops(model);
}

TEST_CASE("olmo2: the epsilon of the norms is the config's", "[models][olmo2]") {
  reads_its_epsilon(olmo2());
}

TEST_CASE("olmo2: configs that the library saved are understood", "[models][olmo2]") {
  TinyLlama model = olmo2();
  model.blocks = 4;
  model.theta = 500.0;
  model.eps = 1e-5;
  reads_saved_configs(model);
}

TEST_CASE("olmo2: groups that read the residual stream absorb no scale", "[models][olmo2]") {
  TinyLlama model = olmo2();
  SECTION("with a key head for each query head") {
    absorbs_scales(model, {0, 1, 0, 1});
  }
  SECTION("with shared key heads") {
    model.kv_heads = 2;
    absorbs_scales(model, {0, 0, 0, 1});
  }
}

TEST_CASE("olmo2: the inputs of q, k, v and of gate, up are the residual stream",
          "[models][olmo2]") {
  TinyLlama model = olmo2();
  model.draw();
  MemorySource source;
  model.store(source);
  const ModelDriver driver(model.config().dump(), source, kit::kFloat32);
  const quench_block_info& block = driver.block(1);
  for (const uint32_t group : {0u, 2u}) {
    const quench_carry_info* carried = nullptr;
    uint32_t count = 0;
    REQUIRE(driver.table().carry(driver.get(), 1, block.groups[group].stage + 1, &carried, &count,
                                 nullptr) == QUENCH_OK);
    REQUIRE(block.groups[group].input == 0);
    CHECK(carried[0].name == std::string("h"));
  }
}

TEST_CASE("olmo2: a tied head is the embedding", "[models][olmo2]") {
  ties_its_head(olmo2());
}

TEST_CASE("olmo2: a config that cannot be is refused by key", "[models][olmo2]") {
  refuses(olmo2(), "clip_qkv", 8.0, "clip_qkv: not understood");
  refuses(olmo2(), "layer_types", {"sliding_attention"}, "layer_types: not understood");
  requires_key(olmo2(), "rope_theta");
  requires_key(olmo2(), "rms_norm_eps");
}

TEST_CASE("olmo2: Llama's tensors are not taken for its own", "[models][olmo2]") {
  TinyLlama model = olmo2();
  model.attention_norm = "input_layernorm";
  model.mlp_norm = "post_attention_layernorm";
  model.draw();
  MemorySource source;
  model.store(source);
  CHECK_THROWS_WITH(ModelDriver(model.config().dump(), source, kit::kFloat32),
                    Catch::Contains("missing model.layers.0.post_feedforward_layernorm.weight"));
}

TEST_CASE("olmo2: gradients are those of central differences", "[models][olmo2]") {
  differentiates(olmo2());
}

TEST_CASE("olmo2: the number of threads changes no bit", "[models][olmo2]") {
  same_for_threads(olmo2());
}

TEST_CASE("olmo2: a model without a checkpoint is drawn as in the reference", "[models][olmo2]") {
  nlohmann::json config = olmo2().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("olmo2: an op changes its keys and values", "[models][olmo2]") {
  lets_an_op_change_keys_and_values(olmo2());
}

}  // namespace quench::test
