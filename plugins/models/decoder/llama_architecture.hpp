// The tensors, stages, input groups and scale sites of a model with Llama's layout.
#pragma once

#include <cstdint>

#include "models/decoder/decoder.hpp"
#include "models/decoder/llama_model.hpp"

namespace quench::decoder {

// Input groups of a block; the stage with the same number makes a group's input.
enum LlamaGroup : uint32_t { kQkvGroup, kOutGroup, kUpGroup, kDownGroup };
// The linears of a group.
enum LlamaQkv : uint32_t { kQuery, kKey, kValue };
enum LlamaMlp : uint32_t { kGate, kGatedUp };

// Weights, blocks, stages and groups of a model whose residual stream has type `dtype`.
Architecture llama_architecture(const LlamaModel& model, quench_dtype dtype);

// The name prefix of block `index` in files, with a dot at the end.
std::string llama_block(int64_t index);

}  // namespace quench::decoder
