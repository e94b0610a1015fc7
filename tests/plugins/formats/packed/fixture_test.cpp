// Folders that other tools wrote, against weights that were dequantized apart from us.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

std::vector<float> read_floats(const TensorSource& source, const std::string& name) {
  return read_float32(source, source.index_of(name));
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("packed weights: folders of other tools dequantize bit for bit", "[formats][packed]") {
  const auto [name, format, writer, bits] =
      GENERATE(table<std::string, std::string, std::string, int64_t>({
          {"gptqmodel-4.2.5-w3-v1-descact", "gptq", "gptqmodel:4.2.5", 3},
          {"gptqmodel-4.2.5-w4-v1-descact", "gptq", "gptqmodel:4.2.5", 4},
          {"gptqmodel-7.7.0-w3-v1", "gptq", "gptqmodel:7.7.0", 3},
          {"gptqmodel-7.7.0-w4-v1", "gptq", "gptqmodel:7.7.0", 4},
          {"gptqmodel-7.7.0-awq-gemm", "awq", "gptqmodel:7.7.0", 4},
          {"llmcompressor-0.14.0.1-gptq-w4", "compressed-tensors", "compressed-tensors:0.19.0", 4},
      }));
  const auto folder = fixture("interchange/" + name);
  const auto wanted = fixture("interchange/" + name + "-dequant-fp32.safetensors");
  CAPTURE(name);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder);
  REQUIRE(checkpoint.quantization.is_object());
  CHECK(checkpoint.quantization.at("format") == format);
  CHECK(checkpoint.quantization.at("writer") == writer);
  CHECK(checkpoint.quantization.at("bits") == bits);
  const SafetensorsFile reference(wanted);
  CHECK(checkpoint.source->count() == reference.names().size());
  for (const std::string& tensor : reference.names()) {
    CAPTURE(tensor);
    CHECK(checkpoint.source->info(checkpoint.source->index_of(tensor)).shape ==
          reference.shape(tensor));
    CHECK(same_bits(read_floats(*checkpoint.source, tensor), reference.elements<float>(tensor)));
  }
}

TEST_CASE("packed weights: int8 folders give weight times SCB over 127", "[formats][packed]") {
  const std::string name = GENERATE("model-t0-float16", "model-t6-float32");
  const auto folder = fixture("interchange/bitsandbytes/" + name);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder);
  REQUIRE(checkpoint.quantization.is_object());
  const SafetensorsFile raw(folder / "model.safetensors");
  size_t linears = 0;
  for (const std::string& tensor : raw.names()) {
    if (!tensor.ends_with(".SCB")) {
      continue;
    }
    const std::string weight = tensor.substr(0, tensor.size() - 4) + ".weight";
    const auto codes = raw.elements<int8_t>(weight);
    const auto scales = raw.elements<float>(tensor);
    const size_t width = codes.size() / scales.size();
    std::vector<float> wanted(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const float product = static_cast<float>(codes[i]) * scales[i / width];
      wanted[i] = product * 7.874015718698502e-3F;
    }
    CHECK(same_bits(read_floats(*checkpoint.source, weight), wanted));
    ++linears;
  }
  CHECK(linears == 8);
  CHECK_FALSE(checkpoint.source->find("gpt_neox.layers.0.attention.dense.SCB"));
}

TEST_CASE("packed weights: a read in pieces has the bits of a whole one", "[formats][packed]") {
  const auto folder = fixture("interchange/gptqmodel-4.2.5-w3-v1-descact");
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder);
  const TensorSource& source = *checkpoint.source;
  const uint64_t index = source.index_of("gpt_neox.layers.1.mlp.dense_4h_to_h.weight");
  const std::vector<float> whole = read_float32(source, index);
  std::vector<float> pieces(whole.size());
  constexpr uint64_t kPiece = 1000;  // no multiple of a row
  for (uint64_t at = 0; at < pieces.size(); at += kPiece) {
    source.read(index, at, std::min<uint64_t>(kPiece, pieces.size() - at), pieces.data() + at);
  }
  CHECK(same_bits(whole, pieces));
  CHECK(content_hash(source) ==
        content_hash(*open_checkpoint_folder(built_catalog(), folder).source));
}

}  // namespace quench::test
