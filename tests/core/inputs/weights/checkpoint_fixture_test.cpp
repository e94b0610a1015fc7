// Against checkpoints that transformers and torch wrote.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using quench::CheckpointFolder;

namespace {

CheckpointFolder open_checkpoint_folder(const fs::path& path) {
  return quench::open_checkpoint_folder(quench::test::built_catalog(), path);
}

// Reads every byte; the number of elements, tied tensors once.
uint64_t read_everything(const quench::TensorSource& source) {
  uint64_t elements = 0;
  std::vector<char> buffer;
  for (uint64_t i = 0; i < source.count(); ++i) {
    const uint64_t total = *quench::element_count(source.info(i).shape);
    buffer.resize(total * quench::dtype_size(source.info(i).dtype));
    source.read(i, 0, total, buffer.data());
    elements += source.info(i).shared_with == i ? total : 0;
  }
  return elements;
}

}  // namespace

TEST_CASE("open_checkpoint_folder: every fixture model opens and reads", "[core][run]") {
  // Tensors and elements as Python's readers list them (buffers included: two a layer of
  // apertus; mask, its value and 2 rotary frequencies a layer of gpt_neox-small).
  const auto [name, tensors, elements, dtype] =
      GENERATE(table<std::string, uint64_t, uint64_t, std::string>({
          {"apertus", 45, 220204, "F32"},
          {"gpt_neox-seq", 27, 112832, "F32"},
          {"gpt_neox-small", 34, 185734, "F32"},
          {"llama", 30, 232896, "F32"},
          {"olmo-clip", 23, 185600, "F32"},
          {"olmo-tied", 16, 132352, "F32"},
          {"olmo2", 36, 368160, "F32"},
          {"opensci", 56, 190592, "F32"},
          {"smollm3", 38, 187392, "BF16"},
      }));
  const auto folder = quench::test::fixture("models/" + name);
  const CheckpointFolder checkpoint = open_checkpoint_folder(folder);
  CAPTURE(name);
  CHECK(checkpoint.source->count() == tensors);
  CHECK(read_everything(*checkpoint.source) == elements);
  CHECK(quench::dtype_name(checkpoint.source->info(0).dtype) == dtype);
  CHECK(quench::parse_json(checkpoint.config_json, "config.json").contains("model_type"));
}

TEST_CASE("open_checkpoint_folder: every trajectory step opens and reads", "[core][run]") {
  const auto trajectory = quench::test::fixture("trajectories/gpt_neox-traj");
  size_t steps = 0;
  std::string previous;
  for (const auto& entry : fs::directory_iterator(trajectory)) {
    if (entry.is_directory()) {
      const CheckpointFolder checkpoint = open_checkpoint_folder(entry.path());
      CHECK(quench::dtype_name(checkpoint.source->info(0).dtype) == "F16");
      const std::string hash = content_hash(*checkpoint.source);
      CHECK(hash != previous);
      previous = hash;
      ++steps;
    }
  }
  CHECK(steps == 14);
}

TEST_CASE("TorchArchive: tied weights of a fixture share their storage", "[core][run]") {
  const auto folder = quench::test::fixture("models/olmo-tied");
  const auto source = open_checkpoint_folder(folder).source;
  const uint64_t embedding = source->index_of("model.embed_tokens.weight");
  const uint64_t head = source->index_of("lm_head.weight");
  CHECK(source->info(head).shared_with == embedding);
  const std::vector<float> values = read_float32(*source, head);
  CHECK(quench::test::differences(values, read_float32(*source, embedding)) == "");
  // struct.unpack('<2f', ...) of the member data/0
  CHECK(values[0] == -0.1183992475271225F);
  CHECK(values[1] == 0.06633935123682022F);
}

TEST_CASE("TorchArchive: legacy buffers of a fixture keep their types", "[core][run]") {
  const auto folder = quench::test::fixture("models/gpt_neox-small");
  const auto source = open_checkpoint_folder(folder).source;
  const auto& mask = source->info(source->index_of("gpt_neox.layers.0.attention.bias"));
  CHECK(quench::dtype_name(mask.dtype) == "BOOL");
  CHECK(mask.shape == std::vector<int64_t>{1, 1, 256, 256});
  const uint64_t masked = source->index_of("gpt_neox.layers.0.attention.masked_bias");
  CHECK(source->info(masked).shape.empty());
  CHECK(read_float32(*source, masked) == std::vector<float>{-1e9F});
  CHECK(read_float32(*source, source->index_of("gpt_neox.embed_in.weight"))[0] ==
        -0.010482310317456722F);
}

TEST_CASE("SafetensorsSource: a fixture's first values are those in the file", "[core][run]") {
  const auto folder = quench::test::fixture("models/smollm3");
  const auto source = open_checkpoint_folder(folder).source;
  uint16_t bits[4];
  source->read(source->index_of("model.embed_tokens.weight"), 0, 4, bits);
  // od -t x2 at the tensor's offset
  CHECK(bits[0] == 0x3b8c);
  CHECK(bits[1] == 0xbdb5);
  CHECK(bits[2] == 0x3df7);
  CHECK(bits[3] == 0xbda5);
}
