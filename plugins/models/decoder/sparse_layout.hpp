// The weights, input groups and carried tensors of a block whose MLP is a sparse mixture of
// experts: a router gives every token `picks` of `experts` gated MLPs, and each one's share in the
// result.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/decoder/block_plan.hpp"
#include "models/decoder/llama_model.hpp"

namespace quench::decoder {

// The groups of expert e: gate and up read the routed rows of the MLP's input; down reads the
// routed rows of what gate and up made. The router is in no group, so it stays as it is. The MLP
// that every token has, if there is one, has the same two groups behind those of the experts.
uint32_t expert_up_group(int64_t expert);
uint32_t expert_down_group(int64_t expert, const LlamaModel& model);
uint32_t shared_up_group(int64_t experts);
uint32_t shared_down_group(const LlamaModel& model);

// Carried beside h and x while rows are routed: int32 [N*picks, 1], where row t*picks + p holds the
// expert of pick p of token t, and its share, [N*picks, 1] in the model's dtype; out of the stage
// inside the experts also what gate and up of the shared one made.
enum SparseCarry : size_t { kExpertCarry = 2, kShareCarry = 3, kSharedCarry = 4 };

// Names and shapes of the router's and the experts' weights. `block` ends with a dot.
std::vector<std::pair<std::string, std::vector<int64_t>>> sparse_weights(const LlamaModel& model,
                                                                         const std::string& block);
std::string router_name(const std::string& block);
std::string router_bias_name(const std::string& block);

// The groups that follow those of the attention.
std::vector<GroupSpec> sparse_groups(const LlamaModel& model, const std::string& block);

// The carries of the stages after the attention: before the experts, inside them, out of the block.
std::vector<std::vector<CarrySpec>> sparse_carries(const LlamaModel& model, quench_dtype dtype);

}  // namespace quench::decoder
