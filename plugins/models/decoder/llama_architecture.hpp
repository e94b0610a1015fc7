// The tensors, stages, input groups and scaling sites of a model that has Llama's layout.
#pragma once

#include <cstdint>

#include "models/decoder/decoder.hpp"
#include "models/decoder/llama_model.hpp"

namespace quench::decoder {

// Input groups of a block, each made by the stage of the same number.
enum LlamaGroup : uint32_t { kQkvGroup, kOutGroup, kUpGroup, kDownGroup };
// Linears of a group.
enum LlamaQkv : uint32_t { kQuery, kKey, kValue };
enum LlamaMlp : uint32_t { kGate, kGatedUp };

// Weights, blocks, stages, groups of a model whose residual stream is in `dtype`.
Architecture llama_architecture(const LlamaModel& model, quench_dtype dtype);

// Name of block `index` in files, with a dot at its end.
std::string llama_block(int64_t index);

}  // namespace quench::decoder
