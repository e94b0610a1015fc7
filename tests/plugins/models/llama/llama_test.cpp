#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"
#include "tests/plugins/models/linked_family.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

int32_t probe(const json& config, std::string* message = nullptr) {
  const std::string text = config.dump();
  quench_error error{sizeof error, 0, {}};
  const int32_t score =
      linked_family(R"({"model_type": "llama"})").probe(text.data(), text.size(), &error);
  if (message != nullptr) {
    *message = error.message;
  }
  return score;
}

}  // namespace

TEST_CASE("llama: a trained model gives the reference's numbers", "[models][llama]") {
  matches_reference("llama");
}

TEST_CASE("llama: 16 bits are as far from float32 as in the reference", "[models][llama]") {
  matches_reference_in_16_bits("llama");
}

TEST_CASE("llama: the forward is that of plain float64 loops", "[models][llama]") {
  TinyLlama model;
  SECTION("as Llama 1") {}
  SECTION("with biases and a tied head") {
    model.attention_bias = true;
    model.mlp_bias = true;
    model.tied = true;
  }
  SECTION("with shared key heads") {
    model.kv_heads = 2;
  }
  SECTION("with heads wider than the stream") {
    model.head = 10;
    model.kv_heads = 1;
  }
  SECTION("with an MLP as wide as the stream") {
    model.inner = 24;  // every tensor called x has the same size
  }
  SECTION("with Llama 3.1's rotary scaling") {
    model.theta = 100.0;  // one frequency is kept, one blended, one slowed down
    model.llama3 = true;
  }
  matches_plain_loops(model);
}

TEST_CASE("llama: the epsilon of the norms is the config's", "[models][llama]") {
  reads_its_epsilon({});
}

TEST_CASE("llama: configs that the library saved are understood", "[models][llama]") {
  TinyLlama model;
  model.blocks = 4;
  model.theta = 100.0;
  model.llama3 = true;
  reads_saved_configs(model);
}

TEST_CASE("llama: scales that its sites absorb change nothing", "[models][llama]") {
  TinyLlama model;
  SECTION("all groups have sites") {
    absorbs_scales(model, {1, 1, 1, 1});
  }
  SECTION("biases absorb them too") {
    model.attention_bias = true;
    model.mlp_bias = true;
    absorbs_scales(model, {1, 2, 1, 2});
  }
  SECTION("shared key heads cannot") {
    model.kv_heads = 2;
    absorbs_scales(model, {1, 0, 1, 1});
  }
}

TEST_CASE("llama: a tied head is the embedding", "[models][llama]") {
  ties_its_head({});
}

TEST_CASE("llama: a probe knows its own type", "[models][llama]") {
  json config = TinyLlama{}.config();
  CHECK(probe(config) == 100);
  config["hidden_act"] = "gelu";
  std::string message;
  CHECK(probe(config, &message) == 0);
  CHECK_THAT(message, Catch::Contains("hidden_act gelu, wanted silu"));
  config["model_type"] = "olmo";
  CHECK(probe(config) < 0);  // not mine, but near
}

TEST_CASE("llama: a config that cannot be is refused by key", "[models][llama]") {
  const TinyLlama model;
  const json llama3 = {{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}};
  refuses(model, "hidden_act", "gelu", "hidden_act gelu");
  refuses(model, "sliding_window", 128, "sliding_window: not understood");
  refuses(model, "clip_qkv", 8.0, "clip_qkv: not understood");
  refuses(model, "num_attention_heads", 5, "no multiple of 4 key-value heads");
  refuses(model, "num_key_value_heads", 3, "no multiple of 3 key-value heads");
  refuses(model, "hidden_size", 25, "hidden_size 25 is no multiple of 4 heads");
  refuses(model, "head_dim", 5, "head_dim = 5, wanted an even number");
  refuses(model, "rms_norm_eps", 0.0, "rms_norm_eps = 0");
  refuses(model, "rope_theta", 1.0, "rope_theta = 1");
  refuses(model, "rope_scaling", {{"type", "longrope"}, {"factor", 2.0}}, "rope_type longrope");
  refuses(model, "rope_scaling", {{"factor", 2.0}}, "rope_scaling: factor: not understood");
  refuses(model, "rope_scaling", {{"type", "linear"}, {"factor", 0.5}}, "factor = 0.5");
  refuses(model, "rope_scaling", {{"type", "linear"}}, "factor is missing");
  refuses(model, "rope_scaling", llama3, "high_freq_factor is missing");
  refuses(model, "rope_parameters", {{"rope_theta", 500.0}}, "contradicts rope_theta = 10000");
  refuses(model, "rope_interleaved", true, "rope_interleaved true");
  refuses(model, "pruned_heads", {{"0", {1}}}, "pruned_heads: not understood");
  refuses(model, "partial_rotary_factor", 0.5, "partial_rotary_factor: not understood");
  refuses(model, "is_causal", false, "is_causal: not understood");
  refuses(model, "rope_parameters", {{"rope_theta", 10000.0}, {"partial_rotary_factor", 0.5}},
          "rope_parameters: partial_rotary_factor: not understood");
  refuses(model, "rope_parameters", {{"full_attention", {{"rope_theta", 10000.0}}}},
          "rope_parameters: full_attention: not understood");
  requires_key(model, "rms_norm_eps");
  requires_key(model, "num_hidden_layers");
}

TEST_CASE("llama: a key that nothing is known of is one warning, and changes no logit",
          "[models][llama]") {
  TinyLlama model;
  model.draw();
  MemorySource source;
  model.store(source);
  json config = model.config();
  const std::vector<double> wanted = logits_of(model, config, source);
  config["use_mrope"] = false;
  config["custom_pipelines"] = {{"text-generation", {{"impl", "x.P"}}}};
  config["unsloth_fixed"] = true;
  const size_t before = logged().size();
  CHECK(logits_of(model, config, source) == wanted);
  CHECK(logged().size() == before);
  config["trained_on"] = "books";
  CHECK(probe(config) == 100);
  CHECK(logged().size() == before);  // whoever opens it says so
  CHECK(logits_of(model, config, source) == wanted);
  REQUIRE(logged().size() == before + 1);
  CHECK_THAT(logged().back(), Catch::Contains("config.json: trained_on: not known"));
}

TEST_CASE("llama: every spelling of a setting means the same", "[models][llama]") {
  TinyLlama model;
  model.llama3 = true;
  model.theta = 100.0;
  model.draw();
  MemorySource source;
  model.store(source);
  json config = model.config();
  const std::vector<double> wanted = logits_of(model, config, source);
  json rope = config["rope_scaling"];
  SECTION("rope_parameters") {
    rope["rope_theta"] = 100.0;
    config.erase("rope_theta");
    config.erase("rope_scaling");
    config["rope_parameters"] = rope;
  }
  SECTION("type for rope_type") {
    rope.erase("rope_type");
    rope["type"] = "llama3";
    config["rope_scaling"] = rope;
  }
  SECTION("with the notes of a converter") {
    config["is_llama_config"] = true;
    config["rope_interleaved"] = false;
    config["pretraining_tp"] = 2;
    config["pruned_heads"] = json::object();
  }
  SECTION("head_dim written out, key heads and biases left out") {
    config["head_dim"] = 6;
    for (const char* key : {"num_key_value_heads", "attention_bias", "tie_word_embeddings"}) {
      config.erase(key);
    }
  }
  CHECK(differences(logits_of(model, config, source), wanted) == "");
  config["rope_scaling"] = nullptr;
  config["rope_parameters"] = nullptr;
  config["rope_theta"] = 100.0;
  CHECK(logits_of(model, config, source) != wanted);
}

TEST_CASE("llama: linear scaling stretches positions", "[models][llama]") {
  TinyLlama model;
  model.draw();
  MemorySource source;
  model.store(source);
  json config = model.config();
  Tokens tokens = model.some_tokens(1, 9);
  ModelDriver plain(config.dump(), source, kit::kFloat64);
  const std::vector<double> wanted = doubles(plain.logits(plain.forward(tokens)));
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  ModelDriver scaled(config.dump(), source, kit::kFloat64);
  CHECK(distance(doubles(scaled.logits(scaled.forward(tokens))), wanted) > 1e-3);
  for (int32_t t = 0; t < 9; ++t) {
    tokens.positions.push_back(4 * t);
  }
  CHECK(distance(doubles(scaled.logits(scaled.forward(tokens))), wanted) < 1e-12);
}

TEST_CASE("llama: a missing rope_theta is that of the first models", "[models][llama]") {
  TinyLlama model;
  model.draw();
  MemorySource source;
  model.store(source);
  json config = model.config();
  const std::vector<double> wanted = logits_of(model, config, source);
  config.erase("rope_theta");
  CHECK(differences(logits_of(model, config, source), wanted) == "");
}

TEST_CASE("llama: names without prefix and old buffers are understood", "[models][llama]") {
  TinyLlama model;
  model.draw();
  MemorySource plain;
  model.store(plain);
  MemorySource source;
  for (const auto& [name, values] : model.weights) {
    source.add(name.starts_with("model.") ? name.substr(6) : name, model.shapes.at(name), values,
               kit::kFloat32);
  }
  source.add("layers.0.self_attn.rotary_emb.inv_freq", {3}, std::vector<double>(3, 1.0),
             kit::kFloat32);
  CHECK(differences(logits_of(model, model.config(), source),
                    logits_of(model, model.config(), plain)) == "");
}

TEST_CASE("llama: gradients are those of central differences", "[models][llama]") {
  TinyLlama model;
  SECTION("as published") {}
  SECTION("with biases, shared key heads and a tied head") {
    model.attention_bias = true;
    model.mlp_bias = true;
    model.kv_heads = 2;
    model.tied = true;
  }
  differentiates(model);
}

TEST_CASE("llama: an op changes its keys and values", "[models][llama]") {
  TinyLlama model;
  model.kv_heads = GENERATE(4, 2, 1);
  lets_an_op_change_keys_and_values(model);
}

TEST_CASE("llama: the number of threads changes no bit", "[models][llama]") {
  TinyLlama model;
  model.kv_heads = 2;
  same_for_threads(model);
}

TEST_CASE("llama: a model without a checkpoint is drawn as in the reference", "[models][llama]") {
  nlohmann::json config = TinyLlama{}.config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("llama: libtorch alone, as on a GPU, gives the reference's numbers", "[models][llama]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  matches_reference("llama");
}

TEST_CASE("llama: libtorch alone, as on a GPU, gives the forward of plain float64 loops",
          "[models][llama]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  TinyLlama model;
  SECTION("with biases and a tied head") {
    model.attention_bias = true;
    model.mlp_bias = true;
    model.tied = true;
  }
  SECTION("with shared key heads") {
    model.kv_heads = 2;
  }
  matches_plain_loops(model);
}

TEST_CASE("llama: libtorch alone, as on a GPU, gives the derivatives of differences",
          "[models][llama]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  TinyLlama model;
  model.kv_heads = GENERATE(4, 2);
  differentiates(model);
}

}  // namespace quench::test
