// The descriptions of one decoder block: its input groups and the tensors between its stages.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/decoder/weights.hpp"
#include "quench/abi/kind/model.h"

namespace quench::decoder {

struct LinearSpec {
  std::string name;  // module name; the weight is <name>.weight, the bias <name>.bias
  std::string role;  // see quench_linear_info
};

// See quench_scale_site. Empty rows: row c absorbs channel c. All blocks share one map of rows.
struct SiteSpec {
  std::string parameter;
  std::shared_ptr<const std::vector<int64_t>> rows = nullptr;
};

struct GroupSpec {
  uint32_t stage;  // its input exists after this stage
  std::vector<LinearSpec> linears;
  std::vector<SiteSpec> sites = {};
  int32_t input = 1;  // index among the tensors carried out of `stage`
  int32_t rows = -1;
  int32_t expert = -1;
};

struct CarrySpec {
  std::string name;
  int64_t width;
  quench_dtype dtype;
  int64_t rows_per_token = 1;
};

struct BlockSpec {
  std::vector<GroupSpec> groups;
  std::vector<std::vector<CarrySpec>> carries;  // [stages + 1]: into stage 0, ..., out of the last
  // The first stage from which each token is computed on its own (`token_wise_from` of a model);
  // nothing if the family does not say.
  std::optional<uint32_t> token_wise_from = {};
  // Whether the block computes with Decoder::attend, where an op can change its keys and values.
  bool attends = false;
};

// A BlockSpec in the structs of the ABI. The structs it hands out live as long as the object, which
// cannot be moved.
class BlockPlan {
 public:
  // Shapes and biases come from the weights.
  BlockPlan(BlockSpec spec, const Weights& weights);
  BlockPlan(const BlockPlan&) = delete;
  BlockPlan& operator=(const BlockPlan&) = delete;

  const BlockSpec& spec() const { return spec_; }
  const quench_block_info& info() const { return info_; }
  uint32_t stage_count() const { return info_.stage_count; }
  std::span<const quench_carry_info> carry(uint32_t stage) const { return carries_[stage]; }

 private:
  BlockSpec spec_;
  std::deque<std::string> names_;  // of weights and biases; a deque, so that they stay in place
  std::vector<std::vector<quench_linear_info>> linears_;
  std::vector<std::vector<quench_scale_site>> sites_;
  std::vector<quench_group_info> groups_;
  std::vector<std::vector<quench_carry_info>> carries_;
  quench_block_info info_{};
};

}  // namespace quench::decoder
