#include <catch2/catch.hpp>

#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"

namespace quench::test {

namespace {

TinyLlama opensci() {
  TinyLlama model;
  model.model_type = "opensci";
  model.attention_bias = true;
  model.mlp_bias = true;
  model.tied = true;
  model.head_norm = model.head;
  model.more["qk_layernorm"] = true;
  return model;
}

}  // namespace

TEST_CASE("opensci: a trained model gives the reference's numbers", "[models][opensci]") {
  matches_reference("opensci");
}

TEST_CASE("opensci: the forward is that of plain float64 loops", "[models][opensci]") {
  TinyLlama model = opensci();
  SECTION("as published") {}
  SECTION("without norms of q and k") {
    model.head_norm = 0;
    model.more["qk_layernorm"] = false;
  }
  SECTION("with shared key heads and no biases") {
    model.kv_heads = 1;
    model.attention_bias = false;
    model.mlp_bias = false;
  }
  matches_plain_loops(model);
}

TEST_CASE("opensci: scales that weights and biases absorb change nothing", "[models][opensci]") {
  absorbs_scales(opensci(), {1, 2, 1, 2});
}

TEST_CASE("opensci: a tied head is the embedding", "[models][opensci]") {
  ties_its_head(opensci());
}

TEST_CASE("opensci: both names of the norms of q and k are understood", "[models][opensci]") {
  TinyLlama model = opensci();
  model.draw();
  MemorySource plain;
  model.store(plain);
  MemorySource source;
  for (const auto& [name, values] : model.weights) {
    std::string other = name;
    if (const size_t at = other.find("_norm."); at != std::string::npos) {
      other.replace(at, 6, "_layernorm.");
    }
    source.add(other, model.shapes.at(name), values, kit::kFloat32);
  }
  CHECK(logits_of(model, model.config(), source) == logits_of(model, model.config(), plain));
}

TEST_CASE("opensci: a config that cannot be is refused by key", "[models][opensci]") {
  refuses(opensci(), "qk_layernorm", "yes", "qk_layernorm");
  refuses(opensci(), "qk_layernorm", false, "unexpected model.layers.0.self_attn.k_norm.weight");
  refuses(opensci(), "clip_qkv", 8.0, "clip_qkv: not understood");
  requires_key(opensci(), "rope_theta");
}

TEST_CASE("opensci: gradients are those of central differences", "[models][opensci]") {
  differentiates(opensci());
}

TEST_CASE("opensci: a model without a checkpoint is drawn as in the reference",
          "[models][opensci]") {
  nlohmann::json config = opensci().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

}  // namespace quench::test
