#include "models/decoder/block_plan.hpp"

#include <utility>

namespace quench::decoder {

BlockPlan::BlockPlan(BlockSpec spec, const Weights& weights) : spec_(std::move(spec)) {
  for (const GroupSpec& group : spec_.groups) {
    auto& linears = linears_.emplace_back();
    for (const LinearSpec& linear : group.linears) {
      const std::string& weight = names_.emplace_back(linear.name + ".weight");
      const std::string& bias = names_.emplace_back(linear.name + ".bias");
      const bool has_bias = weights.has(bias);
      const at::Tensor& values = weights.at(weight);
      linears.push_back({sizeof(quench_linear_info), has_bias ? QUENCH_LINEAR_HAS_BIAS : 0,
                         linear.name.c_str(), linear.role.c_str(), weight.c_str(),
                         has_bias ? bias.c_str() : nullptr, values.size(0), values.size(1)});
    }
    auto& sites = sites_.emplace_back();
    for (const SiteSpec& site : group.sites) {
      sites.push_back({sizeof(quench_scale_site), site.parameter.c_str(),
                       site.rows == nullptr ? nullptr : site.rows->data()});
    }
  }
  for (size_t g = 0; g < spec_.groups.size(); ++g) {
    const GroupSpec& group = spec_.groups[g];
    groups_.push_back({sizeof(quench_group_info), group.stage, group.input, group.rows,
                       group.expert, static_cast<uint32_t>(linears_[g].size()), linears_[g].data(),
                       static_cast<uint32_t>(sites_[g].size()), sites_[g].data()});
  }
  for (const auto& stage : spec_.carries) {
    auto& carried = carries_.emplace_back();
    for (const CarrySpec& carry : stage) {
      carried.push_back({sizeof(quench_carry_info), carry.name.c_str(), carry.width,
                         carry.rows_per_token, carry.dtype});
    }
  }
  info_ = {sizeof(quench_block_info), static_cast<uint32_t>(spec_.carries.size() - 1),
           static_cast<uint32_t>(groups_.size()), groups_.data()};
}

}  // namespace quench::decoder
