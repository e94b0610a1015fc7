#include <catch2/catch.hpp>

#include "models/decoder/residence.hpp"
#include "quench/kit/scalar.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"

namespace quench::test {

namespace {

TinyLlama olmoe() {
  TinyLlama model;
  model.model_type = "olmoe";
  model.head_norm = 24;  // all heads together
  model.inner = 20;
  model.experts = 6;
  model.picks = 2;
  return model;
}

}  // namespace

TEST_CASE("olmoe: the forward is that of plain float64 loops", "[models][olmoe]") {
  TinyLlama model = olmoe();
  SECTION("as published") {}
  SECTION("with shares that sum to one") {
    model.sum_to_one = true;
    model.picks = 3;
  }
  SECTION("with clamped q, k, v and shared key heads") {
    model.clip = 0.75;
    model.kv_heads = 2;
  }
  SECTION("with one expert a token, as wide as the stream") {
    model.picks = 1;
    model.inner = 24;  // every tensor called x has the same size
  }
  SECTION("with every expert for every token") {
    model.picks = 6;
  }
  matches_plain_loops(model);
}

TEST_CASE("olmoe: configs that the library saved are understood", "[models][olmoe]") {
  TinyLlama model = olmoe();
  model.blocks = 4;
  model.inner = 40;
  model.experts = 4;
  model.theta = 500.0;
  reads_saved_configs(model);
}

TEST_CASE("olmoe: a norm that experts and router read absorbs no scale", "[models][olmoe]") {
  TinyLlama model = olmoe();
  model.experts = 2;
  model.picks = 2;
  absorbs_scales(model, {1, 1, 0, 0, 1, 1});
}

TEST_CASE("olmoe: a tied head is the embedding", "[models][olmoe]") {
  ties_its_head(olmoe());
}

TEST_CASE("olmoe: a config that cannot be is refused by key", "[models][olmoe]") {
  refuses(olmoe(), "num_experts", 0, "num_experts = 0");
  refuses(olmoe(), "num_experts_per_tok", 7, "num_experts_per_tok = 7, wanted 1..6");
  refuses(olmoe(), "clip_qkv", -1.0, "clip_qkv = -1, wanted more than 0");
  refuses(olmoe(), "num_shared_experts", 1, "num_shared_experts: not understood");
  refuses(olmoe(), "num_experts", 5, "unexpected model.layers.0.mlp.experts.5");
  requires_key(olmoe(), "num_experts");
  requires_key(olmoe(), "num_experts_per_tok");
}

TEST_CASE("olmoe: experts are groups of the rows routed to them", "[models][olmoe]") {
  TinyLlama model = olmoe();
  model.draw();
  MemorySource source;
  model.store(source);
  const ModelDriver driver(model.config().dump(), source, kit::kFloat32);
  const quench_block_info& block = driver.block(1);
  REQUIRE(block.group_count == 2 + 2 * 6);
  for (uint32_t g = 2; g < block.group_count; ++g) {
    const quench_group_info& group = block.groups[g];
    const bool up = g < 8;
    CHECK(group.stage == (up ? 2 : 3));
    CHECK(group.expert == static_cast<int32_t>((g - 2) % 6));
    CHECK(group.input == 1);
    CHECK(group.rows == 2);
    CHECK(group.linear_count == (up ? 2 : 1));
  }
  for (uint32_t g = 0; g < block.group_count; ++g) {  // the router is no linear of a group
    for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
      CHECK(block.groups[g].linears[l].weight != std::string("model.layers.1.mlp.gate.weight"));
    }
  }
}

TEST_CASE("olmoe: gradients are those of central differences", "[models][olmoe]") {
  TinyLlama model = olmoe();
  SECTION("as published") {}
  SECTION("with shares that sum to one") {
    model.sum_to_one = true;
    model.picks = 3;
  }
  differentiates(model);
}

TEST_CASE("olmoe: the number of threads changes no bit", "[models][olmoe]") {
  same_for_threads(olmoe());
}

TEST_CASE("olmoe: a model without a checkpoint is drawn as in the reference", "[models][olmoe]") {
  nlohmann::json config = olmoe().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("olmoe: block by block it has the gradient that it has as a whole", "[models][olmoe]") {
  TinyLlama model = olmoe();
  model.draw();
  MemorySource source;
  model.store(source);
  const Tokens tokens = model.some_tokens(2, 9);
  const std::string config = model.config().dump();
  ModelDriver whole(config, source, kit::kFloat32);
  const decoder::ByBlock by_block;
  ModelDriver visited(config, source, kit::kFloat32);
  same_gradient(whole, visited, tokens);
  has_curvature(config, source, tokens);
  const matrix::LibtorchAlone as_on_a_gpu;
  same_gradient(whole, visited, tokens);
}

TEST_CASE("olmoe: libtorch alone, as on a GPU, gives plain loops and differences",
          "[models][olmoe]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  SECTION("forward") {
    matches_plain_loops(olmoe());
  }
  SECTION("derivatives") {
    differentiates(olmoe());
  }
}

TEST_CASE("olmoe: an op changes its keys and values", "[models][olmoe]") {
  lets_an_op_change_keys_and_values(olmoe());
}

}  // namespace quench::test
