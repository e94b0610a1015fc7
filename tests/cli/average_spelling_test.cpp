// `quench average` of checkpoints that `quench eval` reads as one model, though their files name
// its tensors differently.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

using Shape = std::vector<int64_t>;
using Tensors = std::map<std::string, std::pair<Shape, std::vector<float>>>;

void add_drawn(Tensors& tensors, const std::string& name, const Shape& shape) {
  std::vector<float> values(
      static_cast<size_t>(shape.size() == 1 ? shape[0] : shape[0] * shape[1]));
  uint32_t state = static_cast<uint32_t>(std::hash<std::string>()(name));
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value =
        (shape.size() == 1 ? 1.0F : 0.0F) + (static_cast<float>(state >> 8) / 16777216 - .5F) / 4;
  }
  tensors[name] = {shape, values};
}

// A llama of one block, with the head tied to the embedding or not.
Tensors llama(bool tied) {
  Tensors tensors;
  add_drawn(tensors, "model.embed_tokens.weight", {256, 32});
  add_drawn(tensors, "model.norm.weight", {32});
  const std::string block = "model.layers.0.";
  add_drawn(tensors, block + "input_layernorm.weight", {32});
  add_drawn(tensors, block + "post_attention_layernorm.weight", {32});
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    add_drawn(tensors, block + "self_attn." + name + ".weight", {32, 32});
  }
  add_drawn(tensors, block + "mlp.gate_proj.weight", {48, 32});
  add_drawn(tensors, block + "mlp.up_proj.weight", {48, 32});
  add_drawn(tensors, block + "mlp.down_proj.weight", {32, 48});
  if (!tied) {
    add_drawn(tensors, "lm_head.weight", {256, 32});
  }
  return tensors;
}

void write_llama(const fs::path& folder, const Tensors& tensors, bool tied) {
  fs::create_directories(folder);
  const nlohmann::json config = {
      {"model_type", "llama"},         {"hidden_size", 32},          {"intermediate_size", 48},
      {"num_hidden_layers", 1},        {"vocab_size", 256},          {"num_attention_heads", 4},
      {"max_position_embeddings", 64}, {"rms_norm_eps", 1e-5},       {"hidden_act", "silu"},
      {"rope_theta", 10000.0},         {"tie_word_embeddings", tied}};
  std::ofstream(folder / "config.json") << config.dump();
  quench::SafetensorsWriter writer(folder / "model.safetensors");
  for (const auto& [name, tensor] : tensors) {
    writer.declare({name, quench::kFloat32, tensor.first, 0});
  }
  for (const auto& [name, tensor] : tensors) {
    writer.write(tensor.second.data(), tensor.second.size() * sizeof(float));
  }
  writer.finish();
}

struct TwoSpellings {
  Workplace here;

  TwoSpellings() { quench::test::need_plugin("models/llama"); }
  void write(const std::string& name, const Tensors& tensors, bool tied) const {
    write_llama(here.folder() / name, tensors, tied);
  }
  Outcome average() const {
    return here.run(
        {"average", "a", "b", "--scheme", "soup", "--tokenizer", "bytes", "-o", "averaged"});
  }
  double loss(const std::string& model) const {
    const Outcome got = here.run({"eval", model, "--tokenizer", "bytes", "--metric",
                                  "validation_loss:text=t.txt,block=16", "--json"});
    INFO(got.err);
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("records").at(0).at("value").get<double>();
  }
  // Both members have the same values, so that the average has them, too.
  void averages_to_itself() const {
    REQUIRE(loss("a") == loss("b"));
    const Outcome made = average();
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK(loss("averaged") == loss("a"));
  }
};

}  // namespace

TEST_CASE("average: a tied head may be stored under one name and under both", "[cli]") {
  const TwoSpellings scene;
  Tensors tensors = llama(true);
  scene.write("a", tensors, true);
  tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
  scene.write("b", tensors, true);
  scene.averages_to_itself();
}

TEST_CASE("average: a tied head that differs from the embedding stays an error", "[cli]") {
  const TwoSpellings scene;
  Tensors tensors = llama(true);
  scene.write("a", tensors, true);
  tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
  tensors["lm_head.weight"].second[3] += 1;
  scene.write("b", tensors, true);
  const Outcome refused = scene.average();
  CHECK(refused.code != 0);
  CHECK_THAT(refused.err, Catch::Contains("are one tensor of the model and have different values"));
}

TEST_CASE("average: names may lack their first part in some members", "[cli]") {
  const TwoSpellings scene;
  const Tensors tensors = llama(false);
  scene.write("a", tensors, false);
  Tensors bare;
  for (const auto& [name, tensor] : tensors) {
    bare[name.starts_with("model.") ? name.substr(6) : name] = tensor;
  }
  scene.write("b", bare, false);
  scene.averages_to_itself();
}

TEST_CASE("average: buffers that the family does not read may be in some members", "[cli]") {
  const TwoSpellings scene;
  Tensors tensors = llama(false);
  scene.write("a", tensors, false);
  add_drawn(tensors, "model.layers.0.self_attn.rotary_emb.inv_freq", {4});
  scene.write("b", tensors, false);
  scene.averages_to_itself();
}

TEST_CASE("average: what the family refuses in a member it refuses in the average", "[cli]") {
  const TwoSpellings scene;
  Tensors tensors = llama(false);
  scene.write("a", tensors, false);
  add_drawn(tensors, "model.layers.0.self_attn.q_proj.bias", {32});
  scene.write("b", tensors, false);
  REQUIRE(scene.average().code == 0);
  const Outcome refused = scene.here.run({"eval", "averaged", "--tokenizer", "bytes", "--metric",
                                          "validation_loss:text=t.txt,block=16"});
  CHECK(refused.code != 0);
  CHECK_THAT(refused.err, Catch::Contains("unexpected model.layers.0.self_attn.q_proj.bias"));
}
