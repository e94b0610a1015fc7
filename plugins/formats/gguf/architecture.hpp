// What llama.cpp calls a model family, and what the families here call its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quench::gguf {

using NamePair = std::pair<std::string_view, std::string_view>;  // in GGUF, in the model

struct Architecture {
  std::string_view id;          // general.architecture, and the beginning of its keys
  std::string_view model_type;  // of config.json
  std::string_view class_name;
  std::string_view activation;
  bool rotary_pairs;                        // q and k have their rows as in row_order.hpp
  std::span<const NamePair> tensors;        // outside the blocks, without .weight and .bias
  std::span<const NamePair> block_tensors;  // blk.N.*, as model.layers.N.*
  std::span<const std::string_view> keys;   // its own, beside those that all have
};

// The architecture with that id, or nullptr.
const Architecture* find_architecture(std::string_view id);

// "llama, olmo, ...".
std::string names_of_architectures();

// "blk.3.attn_q.weight" as "model.layers.3.self_attn.q_proj.weight", and the part "attn_q"; an
// empty name where the architecture has no such tensor, or fewer than `blocks` blocks.
struct ModelName {
  std::string name;
  std::string_view part;  // of `stored`
};
ModelName model_name(const Architecture& architecture, std::string_view stored, uint64_t blocks);

}  // namespace quench::gguf
