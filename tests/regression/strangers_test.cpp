// Architectures that nobody opens: the error has the name, the nearest family, and what differs.
#include <catch2/catch.hpp>
#include <fstream>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/regression/program.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// What `quench eval` says of a checkpoint with this config.
std::string refusal(const nlohmann::json& config) {
  const TemporaryDir folder;
  std::ofstream(folder / "config.json") << config.dump();
  for (const char* name : {"model.safetensors", "ids.safetensors"}) {
    SafetensorsWriter writer(folder / name);
    const std::vector<int32_t> ids(32);
    writer.declare({"ids", kInt32, {1, 32}, 0});
    writer.write(ids.data(), ids.size() * sizeof(int32_t));
    writer.finish();
  }
  const Finished finished =
      run_quench({"eval", folder.path().string(), "--metric",
                  "validation_loss:tokens=" + (folder / "ids.safetensors").string() + ",block=16"});
  CHECK(finished.code != 0);
  return finished.err;
}

const nlohmann::json kCommon = {{"hidden_size", 64},
                                {"num_hidden_layers", 2},
                                {"vocab_size", 128},
                                {"tie_word_embeddings", false}};

nlohmann::json with(nlohmann::json more) {
  nlohmann::json config = kCommon;
  config.update(more);
  return config;
}

}  // namespace

TEST_CASE("strangers: known ones are refused with what their config does not tell",
          "[regression]") {
  const std::string deepseek = refusal(with({{"model_type", "deepseek_v3"},
                                             {"intermediate_size", 128},
                                             {"kv_lora_rank", 16},
                                             {"max_position_embeddings", 64},
                                             {"n_routed_experts", 8},
                                             {"n_shared_experts", 1},
                                             {"num_attention_heads", 4},
                                             {"num_experts_per_tok", 2},
                                             {"q_lora_rank", 16},
                                             {"rms_norm_eps", 1e-5}}));
  CHECK_THAT(deepseek,
             Catch::Contains("no model family fits model_type \"deepseek_v3\"; the nearest is "
                             "dots1, which differs: compressed keys and values"));
  CHECK_THAT(deepseek, Catch::Contains("keys that it does not know: kv_lora_rank, q_lora_rank"));
  const std::string mamba = refusal(
      with({{"model_type", "mamba2"}, {"state_size", 16}, {"conv_kernel", 4}, {"n_groups", 2}}));
  CHECK_THAT(mamba, Catch::Contains("model_type \"mamba2\"; the nearest is mamba, which differs: "
                                    "heads with one decay each, one input projection for all"));
  CHECK_THAT(mamba, Catch::Contains("keys that it does not know: n_groups"));
  const std::string plain = refusal({{"model_type", "transformer"},
                                     {"vocab_size", 128},
                                     {"d_model", 64},
                                     {"n_layers", 2},
                                     {"n_heads", 4}});
  CHECK_THAT(plain, Catch::Contains("model_type \"transformer\"; the nearest is llama, which "
                                    "differs: plainLM's own class"));
}

TEST_CASE("strangers: a known name is no misspelling of a family's", "[regression]") {
  const std::string moe = refusal(with({{"model_type", "qwen3_moe"}, {"sliding_window", 4096}}));
  CHECK_THAT(moe, Catch::Contains("model_type \"qwen3_moe\"; the nearest is olmoe, which differs: "
                                  "norms on each head of q and k"));
}

TEST_CASE("strangers: any other is compared by the keys of its config", "[regression]") {
  const std::string other = refusal(with({{"model_type", "hobbyist"},
                                          {"intermediate_size", 128},
                                          {"max_position_embeddings", 64},
                                          {"num_attention_heads", 4},
                                          {"rms_norm_eps", 1e-5},
                                          {"rope_theta", 10000.0},
                                          {"logit_softcap", 30.0}}));
  CHECK_THAT(other, Catch::Contains("model_type \"hobbyist\"; the nearest is ") &&
                        Catch::Contains("which differs: keys that it does not know: "
                                        "logit_softcap; there are apertus, "));
  CHECK_THAT(refusal(with({{"model_type", "lama"}})),
             Catch::Contains("model_type \"lama\"; the nearest is llama; there are"));
  CHECK_THAT(refusal({{"model_type", "bert"}, {"hidden_size", 32}}),
             Catch::Contains("no model family fits model_type \"bert\"; there are apertus, "));
  CHECK_THAT(refusal({{"tiers", 3}}), Catch::Contains("a config without model_type; there are"));
}

TEST_CASE("strangers: a family's own type is refused for the family's own reason", "[regression]") {
  const std::string own = refusal(with({{"model_type", "llama"}, {"logit_softcap", 30.0}}));
  CHECK_THAT(own, Catch::Contains("llama: config: logit_softcap: not understood"));
  CHECK_THAT(own, !Catch::Contains("the nearest is") && !Catch::Contains("there are"));
}

}  // namespace quench::test
