#include "models/decoder/sparse_layout.hpp"

#include "models/decoder/llama_architecture.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::decoder {

namespace {

std::string expert_name(const std::string& block, int64_t expert) {
  return block + "mlp.experts." + std::to_string(expert) + ".";
}

std::string shared_name(const std::string& block) {
  return block + "mlp.shared_experts.";
}

}  // namespace

uint32_t expert_up_group(int64_t expert) {
  return kUpGroup + static_cast<uint32_t>(expert);
}

uint32_t expert_down_group(int64_t expert, const LlamaModel& model) {
  return shared_up_group(model.experts) + (model.shares_an_expert() ? 1 : 0) +
         static_cast<uint32_t>(expert);
}

uint32_t shared_up_group(int64_t experts) {
  return expert_up_group(experts);
}

uint32_t shared_down_group(const LlamaModel& model) {
  return expert_down_group(model.experts, model);
}

std::string router_name(const std::string& block) {
  return block + "mlp.gate.weight";
}

std::string router_bias_name(const std::string& block) {
  return block + "mlp.gate.e_score_correction_bias";
}

std::vector<std::pair<std::string, std::vector<int64_t>>> sparse_weights(const LlamaModel& model,
                                                                         const std::string& block) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> weights = {
      {router_name(block), {model.experts, model.width}}};
  if (model.sigmoid_routing) {
    weights.push_back({router_bias_name(block), {model.experts}});
  }
  const auto add = [&](const std::string& at, int64_t inner) {
    weights.push_back({at + "gate_proj.weight", {inner, model.width}});
    weights.push_back({at + "up_proj.weight", {inner, model.width}});
    weights.push_back({at + "down_proj.weight", {model.width, inner}});
  };
  for (int64_t e = 0; e < model.experts; ++e) {
    add(expert_name(block, e), model.expert_inner);
  }
  if (model.shares_an_expert()) {
    add(shared_name(block), model.shared_inner);
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
  const auto up = [](const std::string& at) -> std::vector<LinearSpec> {
    return {{at + "gate_proj", "gate"}, {at + "up_proj", "up"}};
  };
  const auto fill_down = [](GroupSpec& group, const std::string& at) {
    group.linears = {{at + "down_proj", "down"}};
    group.sites = {{at + "up_proj.weight"}};
  };
  const std::string shared = shared_name(block);
  for (int64_t e = 0; e < model.experts; ++e) {
    add(kUpGroup, e).linears = up(expert_name(block, e));
  }
  if (model.shares_an_expert()) {
    groups.push_back({kUpGroup, up(shared)});
  }
  for (int64_t e = 0; e < model.experts; ++e) {
    fill_down(add(kDownGroup, e), expert_name(block, e));
  }
  if (model.shares_an_expert()) {
    GroupSpec& down = groups.emplace_back(GroupSpec{kDownGroup, {}});
    down.input = static_cast<int32_t>(kSharedCarry);
    fill_down(down, shared);
  }
  return groups;
}

std::vector<std::vector<CarrySpec>> sparse_carries(const LlamaModel& model, quench_dtype dtype) {
  const CarrySpec h{"h", model.width, dtype};
  const CarrySpec x{"x", model.width, dtype};
  const CarrySpec inner{"x", model.expert_inner, dtype, model.picks};
  const CarrySpec experts{"experts", 1, kit::kInt32, model.picks};
  const CarrySpec shares{"shares", 1, dtype, model.picks};
  std::vector<CarrySpec> inside = {h, inner, experts, shares};
  if (model.shares_an_expert()) {
    inside.push_back({"shared", model.shared_inner, dtype});
  }
  return {{h, x, experts, shares}, inside, {h}};
}

}  // namespace quench::decoder
