#include "formats/gguf/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/gguf/row_order.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::gguf {

namespace {

constexpr uint64_t kChunkBytes = uint64_t{256} << 10;  // of blocks that are decoded at a time
constexpr uint64_t kMaxDivisors = 65536;

// Decodes elements [first, first + elements) of the blocks that lie at `offset` of the file.
void decode(const Bytes& bytes, const TensorType& type, uint64_t offset, uint64_t first,
            uint64_t elements, float* destination) {
  std::vector<std::byte> blocks;
  std::array<float, kMaxBlockElements> partial{};
  const uint64_t at_once = kChunkBytes / type.block_bytes;
  const uint64_t end = first + elements;
  uint64_t block = first / type.block_elements;
  const uint64_t last = (end - 1) / type.block_elements;
  while (block <= last) {
    const uint64_t count = std::min(at_once, last - block + 1);
    blocks.resize(count * type.block_bytes);
    bytes.read(offset + block * type.block_bytes, blocks.size(), blocks.data());
    for (uint64_t i = 0; i < count; ++i, ++block) {
      const std::byte* from = blocks.data() + i * type.block_bytes;
      const uint64_t begin = block * type.block_elements;
      const uint64_t low = std::max(begin, first);
      const uint64_t high = std::min(begin + type.block_elements, end);
      if (high - low == type.block_elements) {
        type.decode(from, destination + (low - first));
      } else {
        type.decode(from, partial.data());
        std::copy_n(partial.data() + (low - begin), high - low, destination + (low - first));
      }
    }
  }
}

// Rows of one head of the tensor that holds `part`, where rows are stored in pairs; else 0.
int64_t rows_in_pairs(const Bytes& bytes, const StoredTensor& stored, std::string_view part,
                      const Architecture& architecture, const Dimensions& dimensions) {
  const bool queries = part == "attn_q";
  if (!architecture.rotary_pairs || (!queries && part != "attn_k")) {
    return 0;
  }
  const uint64_t rows = (queries ? dimensions.heads : dimensions.kv_heads) * dimensions.head_width;
  if (static_cast<uint64_t>(stored.shape.front()) != rows) {
    fail_at(bytes, stored.offset,
            shown(stored.name) + ": " + std::to_string(stored.shape.front()) + " rows, wanted " +
                std::to_string(rows) + ", those of all heads");
  }
  return static_cast<int64_t>(dimensions.head_width);
}

}  // namespace

Checkpoint::Checkpoint(std::unique_ptr<const Bytes> bytes) : bytes_(std::move(bytes)) {
  const Header header = read_header(*bytes_);
  const Architecture& architecture = read_architecture(header.metadata);
  const Dimensions dimensions = read_dimensions(header.metadata, architecture);
  const TensorFacts facts = add_tensors(header, architecture, dimensions);
  if (architecture.id == "apertus") {
    add_activations(header.metadata, dimensions);
  }
  set_config(config_json(header.metadata, architecture, dimensions, facts));
  describe_codes();
}

TensorFacts Checkpoint::add_tensors(const Header& header, const Architecture& architecture,
                                    const Dimensions& dimensions) {
  TensorFacts facts;
  facts.tied = true;
  for (const StoredTensor& stored : header.tensors) {
    if (stored.name == "rope_freqs.weight") {
      read_divisors(stored);
    } else {
      add_tensor(stored, architecture, dimensions, facts);
    }
  }
  facts.rope_divisors = rope_divisors_;
  if (facts.vocabulary == 0) {
    fail_at(*bytes_, 0, "token_embd.weight is missing");
  }
  return facts;
}

void Checkpoint::add_tensor(const StoredTensor& stored, const Architecture& architecture,
                            const Dimensions& dimensions, TensorFacts& facts) {
  const ModelName found = model_name(architecture, stored.name, dimensions.blocks);
  if (found.name.empty()) {
    throw kit::Error(QUENCH_UNSUPPORTED, bytes_->name() + ": tensor " + shown(stored.name) +
                                             ": not known of architecture " +
                                             std::string(architecture.id) + " with " +
                                             std::to_string(dimensions.blocks) + " blocks");
  }
  const bool bias = stored.name.ends_with(".bias");
  facts.attention_bias |= bias && found.part.starts_with("attn_") && found.part != "attn_norm";
  facts.mlp_bias |= bias && found.part.starts_with("ffn_") && found.part != "ffn_norm";
  facts.tied &= found.part != "output";
  if (found.part == "token_embd") {
    facts.vocabulary = static_cast<uint64_t>(stored.shape.front());
  }
  origins_.push_back(
      {stored, rows_in_pairs(*bytes_, stored, found.part, architecture, dimensions), {}});
  add({found.name, stored.type->dtype, stored.shape, origins_.size() - 1});
}

// xIELU's coefficients are metadata in the file and tensors of one number in the model.
void Checkpoint::add_activations(const Metadata& metadata, const Dimensions& dimensions) {
  for (const std::string part : {"alpha_p", "alpha_n", "beta", "eps"}) {
    const std::string key = "xielu." + part;
    const auto values = metadata.numbers(key);
    if (!values || values->size() != dimensions.blocks) {
      metadata.refuse(QUENCH_DATA_LOSS, key,
                      (values ? std::to_string(values->size()) : "no") +
                          std::string(" numbers, wanted one for each of ") +
                          std::to_string(dimensions.blocks) + " blocks");
    }
    for (uint64_t block = 0; block < dimensions.blocks; ++block) {
      origins_.push_back({{}, 0, {static_cast<float>((*values)[block])}});
      add({"model.layers." + std::to_string(block) + ".mlp.act_fn." + part,
           kit::kFloat32,
           {1},
           origins_.size() - 1});
    }
  }
}

void Checkpoint::read_divisors(const StoredTensor& stored) {
  if (stored.shape.size() != 1 || stored.elements > kMaxDivisors ||
      !kit::same(stored.type->dtype, kit::kFloat32)) {
    fail_at(*bytes_, stored.offset, "rope_freqs.weight: wanted a row of F32 divisors");
  }
  rope_divisors_.resize(stored.elements);
  read_stored(stored, 0, stored.elements, reinterpret_cast<std::byte*>(rope_divisors_.data()));
}

void Checkpoint::read_stored(const StoredTensor& stored, uint64_t first, uint64_t elements,
                             std::byte* destination) const {
  const TensorType& type = *stored.type;
  if (type.decode != nullptr) {
    decode(*bytes_, type, stored.offset, first, elements, reinterpret_cast<float*>(destination));
  } else {
    bytes_->read(stored.offset + first * type.block_bytes, elements * type.block_bytes,
                 destination);
  }
}

void Checkpoint::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                               void* destination) const {
  const Origin& origin = origins_[index];
  auto* to = static_cast<std::byte*>(destination);
  if (!origin.values.empty()) {
    std::memcpy(to, origin.values.data() + first, elements * sizeof(float));
    return;
  }
  if (origin.head_rows == 0) {
    read_stored(origin.stored, first, elements, to);
    return;
  }
  const auto rows = static_cast<uint64_t>(origin.stored.shape.front());
  const uint64_t width = origin.stored.elements / rows;  // elements of a row; 1 for a bias
  const auto element = static_cast<uint64_t>(kit::bytes_of(origin.stored.type->dtype));
  while (elements > 0) {
    const uint64_t column = first % width;
    const uint64_t now = std::min(elements, width - column);
    const auto row =
        static_cast<uint64_t>(stored_row(static_cast<int64_t>(first / width), origin.head_rows));
    read_stored(origin.stored, row * width + column, now, to);
    to += now * element;
    first += now;
    elements -= now;
  }
}

void Checkpoint::describe_codes() {
  nlohmann::json codes;
  for (size_t i = 0; i < origins_.size(); ++i) {
    if (!origins_[i].values.empty()) {
      continue;
    }
    const TensorType& type = *origins_[i].stored.type;
    if (type.decode != nullptr) {
      codes[tensors()[i].name] = {{"type", type.name},
                                  {"bits", type.codes.bits},
                                  {"group_size", type.codes.group_size},
                                  {"symmetric", type.codes.symmetric}};
    }
  }
  if (!codes.empty()) {
    set_quantization(nlohmann::json{{"tensors", codes}}.dump());
  }
}

}  // namespace quench::gguf
