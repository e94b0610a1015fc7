// From a GGUF file's metadata to the config.json of the family that its architecture is.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "formats/gguf/architecture.hpp"
#include "formats/gguf/metadata.hpp"

namespace quench::gguf {

// What the layout of tensors depends on.
struct Dimensions {
  uint64_t blocks;
  uint64_t width;
  uint64_t heads;
  uint64_t kv_heads;
  uint64_t head_width;
};

// What the tensors say and the metadata does not.
struct TensorFacts {
  uint64_t vocabulary = 0;  // rows of the embedding
  bool tied = false;        // there is no output head
  bool attention_bias = false;
  bool mlp_bias = false;
  std::span<const float> rope_divisors;  // empty where there are none
};

// The architecture of the file. Throws kit::Error(UNSUPPORTED) where it is not read.
const Architecture& read_architecture(const Metadata& metadata);

// Throws kit::Error, with the key: DATA_LOSS where one is missing or contradicts another.
Dimensions read_dimensions(const Metadata& metadata, const Architecture& architecture);

// The text of config.json. Throws kit::Error with the key: UNSUPPORTED for keys of the architecture
// that are not understood and might change what the model computes, and for settings that the
// family does not have; DATA_LOSS where keys and tensors contradict each other.
std::string config_json(const Metadata& metadata, const Architecture& architecture,
                        const Dimensions& dimensions, const TensorFacts& facts);

}  // namespace quench::gguf
