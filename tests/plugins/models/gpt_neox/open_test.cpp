// Opening: which configs and files are understood, and how the others are refused.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"
#include "tests/plugins/models/linked_family.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

TinyModel drawn(bool tied = false) {
  TinyModel model;
  model.tied = tied;
  return model.draw();
}

std::vector<double> logits_of(const TinyModel& model, const std::string& config,
                              const MemorySource& source) {
  ModelDriver driver(config, source, kit::kFloat32);
  return doubles(driver.logits(driver.forward(some_tokens(model, 1, 9))));
}

int32_t probe(const std::string& config, std::string* message = nullptr) {
  quench_error error{sizeof error, 0, {}};
  const int32_t score = linked_family(config).probe(config.data(), config.size(), &error);
  if (message != nullptr) {
    *message = error.message;
  }
  return score;
}

}  // namespace

TEST_CASE("gpt_neox: a probe knows its own type", "[models][gpt_neox]") {
  json config = json::parse(drawn().config());
  CHECK(probe(config.dump()) == 100);
  config["hidden_act"] = "swish";
  std::string message;
  CHECK(probe(config.dump(), &message) == 0);
  CHECK_THAT(message, Catch::Contains("hidden_act swish"));
  config["model_type"] = "llama";
  CHECK(probe(config.dump()) < 0);  // not mine, but near
  CHECK(probe("{}") <= 0);
  CHECK(probe("[1, 2") == 0);
}

TEST_CASE("gpt_neox: every spelling of the rotary settings means the same", "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  json config = json::parse(model.config());
  const std::vector<double> wanted = logits_of(model, config.dump(), source);
  SECTION("rope_parameters") {
    config.erase("rotary_pct");
    config["rope_parameters"] = {
        {"rope_type", "default"}, {"rope_theta", 10000.0}, {"partial_rotary_factor", 0.5}};
  }
  SECTION("all at once") {
    config["partial_rotary_factor"] = 0.5;
    config["rotary_emb_base"] = 10000;
    config["rope_theta"] = 10000.0;
    config["rope_scaling"] = nullptr;
    config["torch_dtype"] = "float16";
  }
  CHECK(differences(logits_of(model, config.dump(), source), wanted) == "");
  config.erase("rope_theta");
  config.erase("rope_parameters");
  config.erase("partial_rotary_factor");
  config["rotary_pct"] = 0.5;
  config["rotary_emb_base"] = 500;
  CHECK(logits_of(model, config.dump(), source) != wanted);
}

TEST_CASE("gpt_neox: configs that the library saved are understood", "[models][gpt_neox]") {
  TinyModel model;
  model.theta = 500.0;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  const std::vector<double> wanted = logits_of(model, model.config(), source);
  const json saved = json::parse(read_file(source_dir() / "tests/data/saved_configs.json"));
  REQUIRE(saved.size() == 3);
  for (const auto& [version, configs] : saved.items()) {
    CAPTURE(version);
    CHECK(differences(logits_of(model, configs.at("gpt_neox").dump(), source), wanted) == "");
  }
}

TEST_CASE("gpt_neox: what a config leaves out is as in the library", "[models][gpt_neox]") {
  TinyModel model;
  model.rotary_part = 0.25;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  json config = json::parse(model.config());
  const std::vector<double> wanted = logits_of(model, config.dump(), source);
  for (const char* key :
       {"rotary_pct", "use_parallel_residual", "attention_bias", "tie_word_embeddings"}) {
    config.erase(key);
  }
  CHECK(differences(logits_of(model, config.dump(), source), wanted) == "");
}

TEST_CASE("gpt_neox: keys that the library writes and does not read decide nothing",
          "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  json config = json::parse(model.config());
  SECTION("a base") {
    config["rope_theta"] = 500;
    CHECK_THROWS_WITH(
        ModelDriver(config.dump(), source, kit::kFloat32),
        Catch::Contains("rope_theta = 500 contradicts rotary_emb_base = 10000 (missing)"));
  }
  SECTION("a part of the head") {
    config["partial_rotary_factor"] = 1.0;
    CHECK_THROWS_WITH(ModelDriver(config.dump(), source, kit::kFloat32),
                      Catch::Contains("partial_rotary_factor = 1 contradicts rotary_pct = 0.5"));
  }
}

TEST_CASE("gpt_neox: a config that cannot be is refused by key", "[models][gpt_neox]") {
  struct Case {
    const char* key;
    json value;
    const char* message;
  };
  const auto [key, value, message] = GENERATE(values<Case>({
      {"hidden_act", "gelu_new", "hidden_act gelu_new, wanted gelu"},
      {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}, "rope_scaling"},
      {"rope_parameters", {{"rope_type", "yarn"}}, "rope_type yarn"},
      {"pruned_heads", {{"0", {1}}}, "pruned_heads: not understood"},
      {"head_dim", 16, "head_dim: not understood"},
      {"rope_parameters", {{"beta_fast", 32}}, "rope_parameters: beta_fast"},
      {"rope_parameters",
       {{"partial_rotary_factor", 0.25}},
       "rope_parameters/partial_rotary_factor = 0.25 contradicts rotary_pct = 0.5"},
      {"rotary_pct", 0.0, "rotary_pct = 0"},
      {"rotary_pct", 0.1, "0 rotary elements, wanted 1..8"},
      {"quantization_config", {{"bits", 4}}, "quantization_config: not understood"},
      {"sliding_window", 128, "sliding_window: not understood"},
      {"num_hidden_layers", 1025, "num_hidden_layers = 1025, wanted 1..1024"},
      {"num_hidden_layers", nullptr, "num_hidden_layers is missing"},
      {"hidden_size", 262145, "hidden_size = 262145"},
      {"hidden_size", -24, "hidden_size = -24"},
      {"hidden_size", "24", "hidden_size"},
      {"vocab_size", 16777217, "vocab_size = 16777217"},
      {"num_attention_heads", 5, "no multiple of 5 heads"},
      {"layer_norm_eps", -1.0, "layer_norm_eps"},
      {"use_parallel_residual", "yes", "use_parallel_residual"},
      {"model_type", "gptj", "model_type gptj"},
  }));
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  json config = json::parse(model.config());
  config[key] = value;
  CAPTURE(key, value.dump());
  CHECK_THROWS_WITH(ModelDriver(config.dump(), source, kit::kFloat32), Catch::Contains(message));
}

TEST_CASE("gpt_neox: keys that say nothing about the forward are let through",
          "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  json config = json::parse(model.config());
  config["_name_or_path"] = "somewhere";
  config["hidden_dropout"] = 0.1;
  config["pruned_heads"] = json::object();
  config["bos_token_id"] = 0;
  config["sliding_window"] = nullptr;
  CHECK_NOTHROW(ModelDriver(config.dump(), source, kit::kFloat32));
}

TEST_CASE("gpt_neox: all tensors that do not fit are named at once", "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  source.remove("gpt_neox.layers.0.attention.dense.weight");
  source.remove("gpt_neox.final_layer_norm.bias");
  source.add("gpt_neox.layers.2.extra", {2}, std::vector<double>{1.0, 2.0}, kit::kFloat32);
  source.remove("embed_out.weight");
  source.add("embed_out.weight", {36, 24}, std::vector<double>(36 * 24), kit::kFloat32);
  source.remove("gpt_neox.layers.1.mlp.dense_4h_to_h.bias");
  source.add("gpt_neox.layers.1.mlp.dense_4h_to_h.bias", {24}, std::vector<double>(24),
             kit::kInt32);
  quench_error error{sizeof error, 0, {}};
  const std::string config = model.config();
  const quench_model_open_args args = {
      sizeof args,  0, source.source(), config.data(), config.size(), {QUENCH_DEVICE_CPU, 0},
      kit::kFloat32};
  quench_model* opened = nullptr;
  CHECK(linked_family(config).open(&args, &opened, &error) == QUENCH_DATA_LOSS);
  const std::string message = error.message;
  CHECK_THAT(message, Catch::Contains("missing gpt_neox.layers.0.attention.dense.weight, "
                                      "gpt_neox.final_layer_norm.bias"));
  CHECK_THAT(message, Catch::Contains("unexpected gpt_neox.layers.2.extra"));
  CHECK_THAT(message, Catch::Contains("embed_out.weight [36, 24] float32, wanted [37, 24]"));
  CHECK_THAT(message, Catch::Contains("dense_4h_to_h.bias [24] int32"));
}

TEST_CASE("gpt_neox: a bias of 0 or -0 that the model has not is passed over",
          "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  const std::vector<double> logits = logits_of(model, model.config(), source);
  source.add("embed_out.bias", {37}, std::vector<double>(37), kit::kFloat32);
  CHECK(logits_of(model, model.config(), source) == logits);
  for (const quench_dtype dtype : {kit::kFloat32, kit::kBFloat16, kit::kFloat16, kit::kFloat64}) {
    source.remove("embed_out.bias");
    source.add("embed_out.bias", {37}, std::vector<double>(37, -0.0), dtype);
    CHECK(logits_of(model, model.config(), source) == logits);
  }
  source.remove("embed_out.bias");
  std::vector<double> last(37, -0.0);
  last.back() = -1e-30;
  source.add("embed_out.bias", {37}, last, kit::kFloat32);
  CHECK_THROWS_WITH(logits_of(model, model.config(), source),
                    Catch::Contains("unexpected embed_out.bias"));
}

TEST_CASE("gpt_neox: a config of other sizes than its tensors is refused", "[models][gpt_neox]") {
  TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  model.inner = 41;
  CHECK_THROWS_WITH(ModelDriver(model.config(), source, kit::kFloat32),
                    Catch::Contains("dense_h_to_4h.weight [40, 24] float32, wanted [41, 24]"));
  model.inner = 40;
  model.blocks = 1024;  // asks for no memory before the tensors were compared
  limit_allocation(1);
  CHECK_THROWS_WITH(ModelDriver(model.config(), source, kit::kFloat32),
                    Catch::Contains("missing gpt_neox.layers.2."));
  limit_allocation(UINT64_MAX);
}

TEST_CASE("gpt_neox: buffers of old files and other spellings are understood",
          "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource plain;
  model.store(plain, kit::kFloat32);
  const std::vector<double> wanted = logits_of(model, model.config(), plain);
  MemorySource source;
  SECTION("legacy buffers") {
    model.store(source, kit::kFloat32);
    const std::string at = "gpt_neox.layers.0.attention.";
    source.add_bytes(at + "bias", {1, 1, 2, 2}, "\1\0\1\1", kit::kUInt8);
    source.add(at + "masked_bias", {}, std::vector<double>{-1e9}, kit::kFloat32);
    source.add(at + "rotary_emb.inv_freq", {2}, std::vector<double>{1.0, 0.5}, kit::kFloat32);
  }
  SECTION("no prefix, and the head as lm_head") {
    for (const auto& [name, values] : model.weights) {
      source.add(name == "embed_out.weight" ? "lm_head.weight" : name, model.shapes.at(name),
                 values, kit::kFloat32);
    }
  }
  CHECK(differences(logits_of(model, model.config(), source), wanted) == "");
}

TEST_CASE("gpt_neox: tied weights may be stored twice, but not differently", "[models][gpt_neox]") {
  const TinyModel model = drawn(/*tied=*/true);
  MemorySource source;
  model.store(source, kit::kFloat32);
  const std::vector<double> wanted = logits_of(model, model.config(), source);
  std::vector<double> copy = model.weights.at("embed_in.weight");
  SECTION("the same") {
    source.add("embed_out.weight", {37, 24}, copy, kit::kFloat32);
    CHECK(differences(logits_of(model, model.config(), source), wanted) == "");
  }
  SECTION("different") {
    copy[100] += 1.0;
    source.add("embed_out.weight", {37, 24}, copy, kit::kFloat32);
    CHECK_THROWS_WITH(ModelDriver(model.config(), source, kit::kFloat32),
                      Catch::Contains("two names hold different values: embed_out.weight"));
  }
}

TEST_CASE("gpt_neox: a place to compute that is not there is refused", "[models][gpt_neox]") {
  const TinyModel model = drawn();
  MemorySource source;
  model.store(source, kit::kFloat32);
  CHECK_THROWS_WITH(ModelDriver(model.config(), source, kit::kFloat32, {QUENCH_DEVICE_CUDA, 7}),
                    Catch::Contains("cuda:7"));
  CHECK_THROWS_WITH(ModelDriver(model.config(), source, kit::kFloat32, {9, 0}),
                    Catch::Contains("device type 9"));
  CHECK_THROWS_WITH(ModelDriver(model.config(), source, kit::kInt32), Catch::Contains("int32"));
}

TEST_CASE("gpt_neox: a weight that is not a number shows in the loss", "[models][gpt_neox]") {
  TinyModel model = drawn();
  model.weights["embed_in.weight"][3 * 24] = std::nan("");  // only id 3
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, kit::kFloat32);
  const Tokens good{1, 3, {1, 2, 4}};
  const Tokens bad{1, 3, {1, 3, 4}};
  CHECK_NOTHROW(driver.next_id_nll(good));
  try {
    driver.next_id_nll(bad);
    FAIL("wanted an error");
  } catch (const kit::Error& error) {
    CHECK(error.code() == QUENCH_NUMERICAL);
    // Token 0 fails first: it gives the keys after it no weight, and 0 * NaN is NaN.
    CHECK_THAT(error.what(), Catch::Contains("token 0: the loss is nan"));
  }
}

}  // namespace quench::test
