#include "models/decoder/known_keys.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "models/decoder/config.hpp"
#include "quench/kit/error.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

kit::Json parsed(const nlohmann::json& config) {
  const std::string text = config.dump();
  return {text.data(), text.size()};
}

bool passes(const std::string& key, const nlohmann::json& value) {
  return decoder::is_without_effect(parsed({{key, value}}), key);
}

bool speaks(const std::string& key, const nlohmann::json& value) {
  return decoder::speaks_of_the_forward(parsed({{key, value}}), key);
}

}  // namespace

TEST_CASE("known keys: each stands once, in order, and with its reason", "[models][decoder]") {
  const auto known = decoder::keys_without_effect();
  for (size_t i = 0; i < known.size(); ++i) {
    CAPTURE(known[i].name);
    CHECK(known[i].why.size() > 10);
    CHECK((i == 0 || known[i - 1].name < known[i].name));
    CHECK(passes(std::string(known[i].name), false));
    CHECK(passes(std::string(known[i].name), 7) == !known[i].only_off);
  }
}

TEST_CASE("known keys: some are known only where they are off", "[models][decoder]") {
  for (const nlohmann::json& off :
       {nlohmann::json(false), nlohmann::json(), nlohmann::json::object()}) {
    CHECK(passes("use_mrope", off));
    CHECK(passes("pruned_heads", off));
  }
  CHECK_FALSE(passes("use_mrope", true));
  CHECK_FALSE(passes("pruned_heads", {{"0", {1}}}));
  CHECK(passes("unsloth_fixed", true));
  CHECK(passes("custom_pipelines", {{"text-generation", {{"impl", "x.P"}}}}));
  CHECK(passes("_attn_implementation_autoset", true));  // the library's own notes
  CHECK_FALSE(passes("trained_on", "books"));
  CHECK_FALSE(passes("a/b", 1));
}

TEST_CASE("known keys: a name that speaks of a part of the forward is told from a note",
          "[models][decoder]") {
  for (const std::string key : {"sliding_window",
                                "attn_output_multiplier",
                                "qk_norm",
                                "final_logit_softcap",
                                "alibi",
                                "partial_rotary_factor",
                                "use_parallel_residual",
                                "mlp_bias",
                                "emb_scale",
                                "logit_scale",
                                "num_experts",
                                "ropeTheta",
                                "rope2",
                                "hidden_act2",
                                "layer_types",
                                "head_dim",
                                "moe_layer_freq",
                                "query_pre_attn_scalar",
                                "cross_attention_freq",
                                "quantization_config",
                                "vocab_padding",
                                "clip_qkv",
                                "rotaryEmbBase",
                                "time_step_limit",
                                "attentionDropoutScale",
                                "swa_size",
                                "no_rope_layers",
                                "norm_eps",
                                "layernorm_epsilon",
                                "position_embedding_kind"}) {
    CAPTURE(key);
    CHECK(speaks(key, 2));
    CHECK(speaks(key, true));
    CHECK(speaks(key, "some"));
    CHECK_FALSE(speaks(key, false));
    CHECK_FALSE(speaks(key, nlohmann::json()));
    CHECK_FALSE(speaks(key, "none"));
    CHECK_FALSE(speaks(key, nlohmann::json::array()));
  }
  for (const std::string key : {"trained_on", "license", "dataset", "property", "europe", "factory",
                                "exact", "revision", "authors", "url", "notes", "compact"}) {
    CAPTURE(key);
    CHECK_FALSE(speaks(key, 2));
    CHECK_FALSE(speaks(key, "some"));
  }
  CHECK(speaks("audio_config", {{"layers", 2}}));  // a part of a model
  CHECK(speaks("any_config", {{"a", 2}}));
  CHECK_FALSE(speaks("any_config", "a"));
}

TEST_CASE("known keys: to switch off what every family has changes the forward",
          "[models][decoder]") {
  for (const std::string key : {"is_causal", "use_rope", "has_norm", "rotary", "use_attention",
                                "residual", "use_layer_norm"}) {
    CAPTURE(key);
    CHECK(speaks(key, false));
  }
  CHECK(speaks("position_embedding_type", "none"));
  CHECK_FALSE(speaks("use_qk_norm", false));  // most have none
}

TEST_CASE("known keys: unknown ones are one warning, and the first are named of very many",
          "[models][decoder]") {
  nlohmann::json config = {
      {"vocab_size", 3}, {"trained_on", "books"}, {"licence", nullptr}, {"x\ny", 1}};
  const std::vector<std::string_view> understood = {"vocab_size"};
  const size_t before = logged().size();
  decoder::refuse_unknown_keys(parsed(config), "", understood);
  CHECK(logged().size() == before);
  decoder::tell_unknown_keys(parsed(config), understood);
  REQUIRE(logged().size() == before + 1);
  CHECK_THAT(logged().back(),
             Catch::EndsWith("config.json: trained_on, x?y: not known, taken to change nothing"));
  for (int i = 0; i < 1000; ++i) {
    config["note number " + std::to_string(i)] = i;
  }
  decoder::tell_unknown_keys(parsed(config), understood);
  CHECK(logged().size() == before + 2);
  CHECK(logged().back().size() < 500);
  config["attn_scale"] = 2;
  CHECK_THROWS_WITH(decoder::refuse_unknown_keys(parsed(config), "", understood),
                    "config: attn_scale: not understood, and might change what the model computes");
}

TEST_CASE("known keys: in an object of settings every unknown key is refused",
          "[models][decoder]") {
  const std::vector<std::string_view> understood = {"factor"};
  for (const std::string key : {"notes", "a/b", "c~d"}) {
    CHECK_THROWS_WITH(
        decoder::refuse_unknown_keys(parsed({{"rope_scaling", {{"factor", 2}, {key, 1}}}}),
                                     "/rope_scaling", understood),
        Catch::StartsWith("config: rope_scaling: " + key + ": not understood"));
  }
  CHECK_NOTHROW(decoder::refuse_unknown_keys(parsed({{"rope_scaling", {{"a/b", nullptr}}}}),
                                             "/rope_scaling", understood));
}

}  // namespace quench::test
