#include <catch2/catch.hpp>

#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"
#include "tests/support/differences.hpp"

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
    model.more["mlp_bias"] = false;
  }
  matches_plain_loops(model);
}

TEST_CASE("opensci: the epsilon of the norms is the config's", "[models][opensci]") {
  reads_its_epsilon(opensci());
}

TEST_CASE("opensci: configs of the converters are understood", "[models][opensci]") {
  TinyLlama model = opensci();
  model.draw();
  MemorySource source;
  model.store(source);
  nlohmann::json config = model.config();
  const std::vector<double> wanted = logits_of(model, config, source);
  config["auto_map"] = {{"AutoModelForCausalLM", "modeling_opensci.OpensciForCausalLM"}};
  config["head_dim"] = 6;
  config["mlp_bias"] = true;
  config["pretraining_tp"] = 1;
  SECTION("of the first") {}
  SECTION("of one that writes the epsilon of the norms twice") {
    config["layer_norm_eps"] = config.at("rms_norm_eps");
  }
  SECTION("of the port, which has biases and norms without saying so") {
    config.erase("mlp_bias");
    config.erase("qk_layernorm");
  }
  SECTION("of one with the keys of Qwen3, whose windows are off") {
    config["use_sliding_window"] = false;
    config["sliding_window"] = 4096;
    config["max_window_layers"] = 28;
    config["layer_types"] = {"full_attention", "full_attention"};
  }
  CHECK(differences(logits_of(model, config, source), wanted) == "");
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
  CHECK(differences(logits_of(model, model.config(), source),
                    logits_of(model, model.config(), plain)) == "");
}

TEST_CASE("opensci: a config that cannot be is refused by key", "[models][opensci]") {
  refuses(opensci(), "qk_layernorm", "yes", "qk_layernorm");
  refuses(opensci(), "qk_layernorm", false, "unexpected model.layers.0.self_attn.k_norm.weight");
  refuses(opensci(), "layer_norm_eps", 0.5, "layer_norm_eps = 0.5, wanted rms_norm_eps, ");
  refuses(opensci(), "clip_qkv", 8.0, "clip_qkv: not understood");
  refuses(opensci(), "mlp_bias", false, "unexpected model.layers.0.mlp.down_proj.bias");
  refuses(opensci(), "attention_bias", false, "self_attn.o_proj.bias");
  refuses(opensci(), "use_sliding_window", true, "use_sliding_window true");
  refuses(opensci(), "layer_types", {"full_attention", "sliding_attention"},
          "layer_types: sliding_attention");
  requires_key(opensci(), "rope_theta");
}

TEST_CASE("opensci: gradients are those of central differences", "[models][opensci]") {
  differentiates(opensci());
}

TEST_CASE("opensci: the number of threads changes no bit", "[models][opensci]") {
  same_for_threads(opensci());
}

TEST_CASE("opensci: a model without a checkpoint is drawn as in the reference",
          "[models][opensci]") {
  nlohmann::json config = opensci().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("opensci: an op changes its keys and values", "[models][opensci]") {
  lets_an_op_change_keys_and_values(opensci());
}

}  // namespace quench::test
