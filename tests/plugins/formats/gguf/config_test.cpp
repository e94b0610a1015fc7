// config.json out of metadata.
#include <catch2/catch.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "formats/gguf/checkpoint.hpp"
#include "tests/plugins/formats/gguf/gguf_file.hpp"
#include "tests/plugins/formats/gguf/memory_bytes.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

using json = nlohmann::json;

quench_checkpoint_contents contents(const gguf::Checkpoint& checkpoint) {
  quench_checkpoint_contents out{};
  checkpoint.fill(out);
  return out;
}

json config_of(const std::string& bytes) {
  const gguf::Checkpoint checkpoint(std::make_unique<MemoryBytes>(bytes));
  const quench_checkpoint_contents found = contents(checkpoint);
  return json::parse(std::string(found.config_json, found.config_bytes));
}

json config_of(GgufFile file) {
  file.tensor("token_embd.weight", {3, 8}, kGgufF32, std::string(96, '\0'));
  return config_of(file.bytes());
}

std::string fault_of(GgufFile file) {
  try {
    config_of(std::move(file));
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

std::string of_data(const std::string& name) {
  return read_file(source_dir() / "tests/data/gguf" / name);
}

}  // namespace

TEST_CASE("gguf: a converted model has the config that it came from", "[gguf]") {
  json config = config_of(of_data("llama.gguf"));
  CHECK(config.at("head_dim") == 8);
  config.erase("head_dim");
  CHECK(config == json::parse(of_data("llama.json")));
}

TEST_CASE("gguf: float32 metadata become the decimal numbers that were written", "[gguf]") {
  GgufFile file = small_llama();
  file.add("llama.rope.freq_base", 500000.1F);
  const json config = config_of(file);
  CHECK(config.at("rms_norm_eps") == 1e-6);
  CHECK(config.at("rope_theta") == 500000.1);
}

TEST_CASE("gguf: without an output head the embedding is the head", "[gguf]") {
  GgufFile file = small_llama();
  CHECK(config_of(file).at("tie_word_embeddings") == true);
  file.tensor("output.weight", {3, 8}, kGgufF32, std::string(96, '\0'));
  CHECK(config_of(file).at("tie_word_embeddings") == false);
}

TEST_CASE("gguf: biases are in the config where they are in the file", "[gguf]") {
  GgufFile file = small_llama();
  CHECK(config_of(file).at("attention_bias") == false);
  CHECK(config_of(file).at("mlp_bias") == false);
  file.tensor("blk.0.attn_output.bias", {8}, kGgufF32, std::string(32, '\0'));
  CHECK(config_of(file).at("attention_bias") == true);
  file.tensor("blk.0.ffn_down.bias", {8}, kGgufF32, std::string(32, '\0'));
  CHECK(config_of(file).at("mlp_bias") == true);
}

TEST_CASE("gguf: linear scaling of positions is read", "[gguf]") {
  GgufFile file = small_llama();
  CHECK(config_of(file).at("rope_scaling").is_null());
  file.add("llama.rope.scaling.factor", 4.0F);
  CHECK(config_of(file).at("rope_scaling") == json{{"rope_type", "linear"}, {"factor", 4.0}});
  file.add("llama.rope.scaling.type", "none");
  CHECK(config_of(file).at("rope_scaling").is_null());

  GgufFile yarn = small_llama();
  yarn.add("llama.rope.scaling.type", "yarn");
  CHECK(fault_of(yarn) == "file: llama.rope.scaling.type: yarn, wanted none or linear");
}

TEST_CASE("gguf: Llama 3.1's scaling is found in the divisors of frequencies", "[gguf]") {
  const std::string bytes = of_data("llama31.gguf");
  CHECK(config_of(bytes).at("rope_scaling") ==
        json::parse(R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})"));
  const auto with = [](const std::vector<float>& divisors) {
    GgufFile file = small_llama();
    std::string row;
    for (const float divisor : divisors) {
      row += GgufFile::bytes_of(divisor);
    }
    file.tensor("rope_freqs.weight", {divisors.size()}, kGgufF32, row);
    return file;
  };
  CHECK(config_of(with({1.0F, 1.0F})).at("rope_scaling").is_null());
  // Heads of 4: frequencies 1 and 0.01, waves of 6 and 628 positions, which the scaling leaves.
  CHECK(fault_of(with({1.0F, 8.0F})) ==
        "file: rope_freqs.weight: divisor 1 is 8, wanted 1 (llama3 scaling from 8192 positions, "
        "low_freq_factor 1, high_freq_factor 4)");
  CHECK(fault_of(with({1.0F, 1.0F, 1.0F})) ==
        "file: rope_freqs.weight: 3 divisors, wanted 2, half of a head");
  CHECK_THAT(fault_of(with({1.0F, std::numeric_limits<float>::quiet_NaN()})),
             Catch::StartsWith("file: rope_freqs.weight: divisor 1 is nan"));
  GgufFile both = with({1.0F, 1.0F});
  both.add("llama.rope.scaling.factor", 2.0F);
  CHECK(config_of(both).at("rope_scaling").at("rope_type") == "linear");
}

TEST_CASE("gguf: a count may be an array of one number for each block", "[gguf]") {
  const auto with = [](uint32_t type, const std::string& elements, uint64_t count) {
    GgufFile file = small_llama();
    file.pair("llama.vocab_size", 9,
              GgufFile::bytes_of(type) + GgufFile::bytes_of(count) + elements);
    return file;
  };
  const auto two = [](auto first, auto second) {
    return GgufFile::bytes_of(first) + GgufFile::bytes_of(second);
  };
  const auto rows = static_cast<uint32_t>(config_of(small_llama()).at("vocab_size"));
  CHECK(config_of(with(4, two(rows, rows), 2)).at("vocab_size") == rows);
  CHECK(config_of(with(5, two(int32_t(rows), int32_t(rows)), 2)).at("vocab_size") == rows);
  const auto ends = [](const GgufFile& file, const std::string& what) {
    CHECK_THAT(fault_of(file), Catch::EndsWith("llama.vocab_size: " + what));
  };
  ends(with(4, two(rows, rows + 1), 2), "from " + std::to_string(rows) + " to " +
                                            std::to_string(rows + 1) +
                                            ", wanted one number for all blocks");
  ends(with(5, two(-1, -1), 2), "got array of 2 int32, wanted an integer of at least 0");
  ends(with(6, two(1.0F, 1.0F), 2), "got array of 2 float32, wanted an integer of at least 0");
  ends(with(4, "", 0), "got array of 0 uint32, wanted an integer of at least 0");
}

TEST_CASE("gguf: what might change the forward and is not understood is refused by name",
          "[gguf][bad]") {
  const auto with = [](auto change) {
    GgufFile file = small_llama();
    change(file);
    return fault_of(file);
  };
  CHECK(with([](GgufFile& f) { f.add("llama.logit_scale", 0.5F); }) ==
        "file: llama.logit_scale: not understood, and might change what the model computes");
  CHECK(with([](GgufFile& f) { f.add("llama.expert_count", uint32_t{8}); }) ==
        "file: llama.expert_count: 8, wanted 0: mixtures of experts are not read");
  CHECK(with([](GgufFile& f) { f.add("llama.vocab_size", uint32_t{4}); }) ==
        "file: llama.vocab_size: 4, wanted 3, the rows of token_embd.weight");
  CHECK(with([](GgufFile& f) { f.add("llama.rope.dimension_count", uint32_t{2}); }) ==
        "file: llama.rope.dimension_count: 2, wanted 4, the width of a head");
  CHECK(with([](GgufFile& f) { f.add("llama.attention.value_length", uint32_t{2}); }) ==
        "file: llama.attention.value_length: 2, wanted 4, as wide as a key");
  CHECK(with([](GgufFile& f) { f.add("llama.attention.causal", false); }) ==
        "file: llama.attention.causal: false, wanted true");
  CHECK(with([](GgufFile& f) { f.add("general.type", "adapter"); }) ==
        "file: general.type: adapter, wanted model");
  CHECK(with([](GgufFile& f) { f.add("general.quantization_version", uint32_t{1}); }) ==
        "file: general.quantization_version: 1, wanted 2");
  CHECK(with([](GgufFile& f) { f.add("split.count", uint32_t{2}); }) ==
        "file: split.count: one of several files, wanted a whole one (llama-gguf-split --merge)");
  CHECK(with([](GgufFile& f) {
          f.tensor("blk.0.attn_sinks.weight", {2}, kGgufF32, std::string(8, '\0'));
        }) ==
        "file: tensor blk.0.attn_sinks.weight: not known of architecture llama with 1 blocks");
  CHECK(with([](GgufFile& f) {
          f.tensor("blk.1.attn_norm.weight", {8}, kGgufF32, std::string(32, '\0'));
        }) == "file: tensor blk.1.attn_norm.weight: not known of architecture llama with 1 blocks");
  CHECK_THAT(with([](GgufFile& f) {
               f.tensor("blk.0.attn_q.weight", {6, 8}, kGgufF32, std::string(192, '\0'));
             }),
             Catch::EndsWith("blk.0.attn_q.weight: 6 rows, wanted 8, those of all heads"));
}

TEST_CASE("gguf: an architecture that is not read is named with those that are", "[gguf][bad]") {
  GgufFile file;
  CHECK(fault_of(file) == "file: general.architecture: missing");
  file.add("general.architecture", "gptneox");
  CHECK(fault_of(file) ==
        "file: general.architecture: gptneox, wanted one of llama, olmo, olmo2, smollm3, apertus");
}

TEST_CASE("gguf: what is known of codes is told by tensor", "[gguf]") {
  const gguf::Checkpoint checkpoint(std::make_unique<MemoryBytes>(of_data("types.gguf")));
  const quench_checkpoint_contents found = contents(checkpoint);
  const json codes =
      json::parse(std::string(found.quantization_json, found.quantization_bytes))["tensors"];
  CHECK(codes.size() == 10);  // of 13 types, three are float
  CHECK(codes.at("model.layers.12.mlp.up_proj.weight") ==
        json{{"type", "Q6_K"}, {"bits", 6}, {"group_size", 16}, {"symmetric", true}});
  const gguf::Checkpoint plain(std::make_unique<MemoryBytes>(of_data("llama.gguf")));
  CHECK(contents(plain).quantization_json == nullptr);
}

}  // namespace quench::test
