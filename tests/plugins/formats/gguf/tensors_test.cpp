// Tensors of GGUF files against the reference's own numbers (tests/data/gguf/make.py).
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "formats/gguf/checkpoint.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/formats/gguf/gguf_file.hpp"
#include "tests/plugins/formats/gguf/memory_bytes.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

std::filesystem::path data(const std::string& name) {
  return source_dir() / "tests/data/gguf" / name;
}

gguf::Checkpoint open(const std::string& bytes) {
  return gguf::Checkpoint(std::make_unique<MemoryBytes>(bytes));
}

uint64_t index_of(const gguf::Checkpoint& checkpoint, const std::string& name) {
  const auto& tensors = checkpoint.tensors();
  for (uint64_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) {
      return i;
    }
  }
  FAIL("no tensor " << name);
  return 0;
}

// Bytes of elements [first, first + count), in the tensor's own type.
std::string read(const gguf::Checkpoint& checkpoint, uint64_t index, uint64_t first,
                 uint64_t count) {
  std::string out(count * static_cast<uint64_t>(kit::bytes_of(checkpoint.tensors()[index].dtype)),
                  '\0');
  checkpoint.read_elements(index, first, count, out.data());
  return out;
}

uint64_t elements_of(const gguf::Checkpoint& checkpoint, uint64_t index) {
  uint64_t count = 1;
  for (const int64_t size : checkpoint.tensors()[index].shape) {
    count *= static_cast<uint64_t>(size);
  }
  return count;
}

std::string read_all(const gguf::Checkpoint& checkpoint, uint64_t index) {
  return read(checkpoint, index, 0, elements_of(checkpoint, index));
}

// float32 bytes of a tensor of any float type.
std::string as_float32(const gguf::Checkpoint& checkpoint, uint64_t index) {
  const std::string bytes = read_all(checkpoint, index);
  const quench_dtype dtype = checkpoint.tensors()[index].dtype;
  if (kit::same(dtype, kit::kFloat32)) {
    return bytes;
  }
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    out += GgufFile::bytes_of(kit::same(dtype, kit::kFloat16) ? kit::from_half(bits)
                                                              : kit::from_bfloat(bits));
  }
  return out;
}

std::string expected_bytes(const SafetensorsFile& file, const std::string& name, bool wide) {
  if (wide) {
    const auto values = file.elements<float>(name);
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
  const auto values = file.elements<uint16_t>(name);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint16_t)};
}

}  // namespace

TEST_CASE("gguf: tensors of every type equal the reference's dequantization, bit for bit",
          "[gguf]") {
  const gguf::Checkpoint checkpoint = open(read_file(data("types.gguf")));
  const SafetensorsFile expected(data("types.safetensors"));
  REQUIRE(expected.names().size() == 13);
  for (const std::string& name : expected.names()) {
    CAPTURE(name);
    const uint64_t index = index_of(checkpoint, name);
    CHECK(checkpoint.tensors()[index].shape == expected.shape(name));
    CHECK(as_float32(checkpoint, index) == expected_bytes(expected, name, true));
  }
}

TEST_CASE("gguf: a part of a tensor is that part of the whole", "[gguf]") {
  for (const char* file : {"types.gguf", "llama.gguf"}) {
    const gguf::Checkpoint checkpoint = open(read_file(data(file)));
    for (uint64_t index = 0; index < checkpoint.tensors().size(); ++index) {
      const std::string whole = read_all(checkpoint, index);
      const uint64_t elements = elements_of(checkpoint, index);
      const uint64_t size = whole.size() / elements;
      CAPTURE(checkpoint.tensors()[index].name);
      for (const auto& [first, count] : {std::pair<uint64_t, uint64_t>{0, 1},
                                         {1, 1},
                                         {31, 2},
                                         {5, elements / 2},
                                         {elements / 3, elements - elements / 3},
                                         {elements - 1, 1}}) {
        if (first + count <= elements && count > 0) {
          REQUIRE(read(checkpoint, index, first, count) ==
                  whole.substr(first * size, count * size));
        }
      }
    }
  }
}

TEST_CASE("gguf: queries and keys have their rows in the model's order", "[gguf]") {
  std::string bytes = read_file(data("llama.gguf"));
  const uint32_t version = GENERATE(3U, 2U);  // the layout is the same
  bytes.replace(4, sizeof version, GgufFile::bytes_of(version));
  const gguf::Checkpoint checkpoint = open(bytes);
  const SafetensorsFile expected(data("llama.safetensors"));
  CHECK(checkpoint.tensors().size() == expected.names().size());
  for (const std::string& name : expected.names()) {
    CAPTURE(name);
    const uint64_t index = index_of(checkpoint, name);
    const quench_dtype dtype = checkpoint.tensors()[index].dtype;
    const bool wide = expected.shape(name).size() == 1;
    CHECK(kit::same(dtype, wide ? kit::kFloat32 : kit::kFloat16));
    CHECK(checkpoint.tensors()[index].shape == expected.shape(name));
    CHECK(read_all(checkpoint, index) == expected_bytes(expected, name, wide));
  }
}

TEST_CASE("gguf: rows of a head of six are put back by hand", "[gguf]") {
  // Two heads of width 6: the model's rows 0 1 2 | 3 4 5 are stored as 0 3 1 4 2 5.
  GgufFile file;
  file.add("general.architecture", "llama");
  file.add("llama.block_count", uint32_t{1});
  file.add("llama.context_length", uint32_t{64});
  file.add("llama.embedding_length", uint32_t{12});
  file.add("llama.feed_forward_length", uint32_t{1});
  file.add("llama.attention.head_count", uint32_t{2});
  file.add("llama.attention.layer_norm_rms_epsilon", 1e-6F);
  file.tensor("token_embd.weight", {1, 12}, kGgufF32, std::string(48, '\0'));
  std::string rows;
  for (const float row : {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}) {
    rows += GgufFile::bytes_of(row);
  }
  file.tensor("blk.0.attn_q.bias", {12}, kGgufF32, rows);
  file.tensor("blk.0.attn_v.bias", {12}, kGgufF32, rows);
  const gguf::Checkpoint checkpoint = open(file.bytes());
  std::string in_order;
  for (int row = 0; row < 12; ++row) {
    in_order += GgufFile::bytes_of(static_cast<float>(row));
  }
  CHECK(read_all(checkpoint, index_of(checkpoint, "model.layers.0.self_attn.q_proj.bias")) ==
        in_order);
  CHECK(read_all(checkpoint, index_of(checkpoint, "model.layers.0.self_attn.v_proj.bias")) == rows);
}

}  // namespace quench::test
