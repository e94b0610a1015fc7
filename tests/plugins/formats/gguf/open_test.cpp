// GGUF files as the host finds and opens them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "tests/plugins/formats/gguf/gguf_file.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

std::string made_by_the_reference(const std::string& name) {
  return read_file(source_dir() / "tests/data/gguf" / name);
}

CheckpointFolder open(const std::filesystem::path& path) {
  return open_checkpoint_folder(built_catalog(), path);
}

// The model type that the config names.
std::string type_of(const CheckpointFolder& folder) {
  return nlohmann::json::parse(folder.config_json).at("model_type");
}

}  // namespace

TEST_CASE("gguf: a file is opened by its name, or as the only one of a folder", "[formats][gguf]") {
  const TemporaryDir folder;
  folder.write("model.gguf", made_by_the_reference("llama.gguf"));
  folder.write("config.json", R"({"model_type": "another"})");
  for (const std::filesystem::path& path : {folder.path(), folder / "model.gguf"}) {
    const CheckpointFolder opened = open(path);
    CHECK(type_of(opened) == "llama");
    CHECK(opened.files == std::vector{folder / "model.gguf"});
    CHECK(opened.quantization.is_null());
    const SafetensorsFile expected(source_dir() / "tests/data/gguf/llama.safetensors");
    const uint64_t index = opened.source->index_of("model.layers.1.self_attn.k_proj.weight");
    std::vector<uint16_t> half(16 * 32);
    opened.source->read(index, 0, half.size(), half.data());
    CHECK(half == expected.elements<uint16_t>("model.layers.1.self_attn.k_proj.weight"));
  }
  folder.write("other.gguf", made_by_the_reference("llama.gguf"));
  CHECK(type_of(open(folder / "model.gguf")) == "llama");
  CHECK_THAT(message_of([&] { open(folder.path()); }),
             Catch::Contains("gguf: several files end in .gguf: name the one that is meant"));
}

TEST_CASE("gguf: safetensors beside a GGUF file are read by the host", "[formats][gguf]") {
  const TemporaryDir folder;
  folder.write("model.gguf", made_by_the_reference("types.gguf"));
  folder.write("model.safetensors", made_by_the_reference("llama.safetensors"));
  CHECK(open(folder.path()).source->find("lm_head.weight"));
  CHECK_FALSE(open(folder / "model.gguf").source->find("lm_head.weight"));
}

TEST_CASE("gguf: a checkpoint says by tensor how its codes are stored", "[formats][gguf]") {
  const auto stored = open(source_dir() / "tests/data/gguf/types.gguf").quantization;
  CHECK(stored.at("format") == "gguf");
  CHECK(stored.at("tensors").at("model.layers.10.mlp.up_proj.weight") ==
        nlohmann::json{{"type", "Q4_K"}, {"bits", 4}, {"group_size", 32}, {"symmetric", false}});
}

TEST_CASE("gguf: a damaged file is refused with its name and the place", "[formats][gguf][bad]") {
  const TemporaryDir folder;
  const std::string whole = made_by_the_reference("llama.gguf");
  folder.write("cut.gguf", whole.substr(0, 1000));
  CHECK_THAT(message_of([&] { open(folder / "cut.gguf"); }, folder.path()),
             Catch::StartsWith("format gguf: cut.gguf: offset "));
  folder.write("no.gguf", "GGML");
  CHECK_THAT(message_of([&] { open(folder / "no.gguf"); }),
             Catch::Contains("gguf: no.gguf does not begin with GGUF"));
}

}  // namespace quench::test
