#include "models/decoder/sparse_layout.hpp"

#include "models/decoder/llama_architecture.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::decoder {

namespace {

std::string expert_name(const std::string& block, int64_t expert) {
  return block + "mlp.experts." + std::to_string(expert) + ".";
}

}  // namespace

uint32_t expert_up_group(int64_t expert) {
  return kUpGroup + static_cast<uint32_t>(expert);
}

uint32_t expert_down_group(int64_t expert, int64_t experts) {
  return kUpGroup + static_cast<uint32_t>(experts + expert);
}

std::string router_name(const std::string& block) {
  return block + "mlp.gate.weight";
}

std::vector<std::pair<std::string, std::vector<int64_t>>> sparse_weights(const LlamaModel& model,
                                                                         const std::string& block) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> weights = {
      {router_name(block), {model.experts, model.width}}};
  for (int64_t e = 0; e < model.experts; ++e) {
    const std::string at = expert_name(block, e);
    weights.push_back({at + "gate_proj.weight", {model.inner, model.width}});
    weights.push_back({at + "up_proj.weight", {model.inner, model.width}});
    weights.push_back({at + "down_proj.weight", {model.width, model.inner}});
  }
  return weights;
}

// No norm can absorb the scale of an expert's input, because all experts and the router read its
// output. An expert's up can absorb the scale of its down, as in any gated MLP.
std::vector<GroupSpec> sparse_groups(const LlamaModel& model, const std::string& block) {
  std::vector<GroupSpec> groups;
  const auto add = [&](uint32_t stage, int64_t expert) -> GroupSpec& {
    GroupSpec& group = groups.emplace_back(GroupSpec{stage, {}});
    group.rows = static_cast<int32_t>(kExpertCarry);
    group.expert = static_cast<int32_t>(expert);
    return group;
  };
  for (int64_t e = 0; e < model.experts; ++e) {
    const std::string at = expert_name(block, e);
    add(kUpGroup, e).linears = {{at + "gate_proj", "gate"}, {at + "up_proj", "up"}};
  }
  for (int64_t e = 0; e < model.experts; ++e) {
    const std::string at = expert_name(block, e);
    GroupSpec& down = add(kDownGroup, e);
    down.linears = {{at + "down_proj", "down"}};
    down.sites = {{at + "up_proj.weight"}};
  }
  return groups;
}

std::vector<std::vector<CarrySpec>> sparse_carries(const LlamaModel& model, quench_dtype dtype) {
  const CarrySpec h{"h", model.width, dtype};
  const CarrySpec x{"x", model.width, dtype};
  const CarrySpec inner{"x", model.inner, dtype, model.picks};
  const CarrySpec experts{"experts", 1, kit::kInt32, model.picks};
  const CarrySpec shares{"shares", 1, dtype, model.picks};
  return {{h, x, experts, shares}, {h, inner, experts, shares}, {h}};
}

}  // namespace quench::decoder
