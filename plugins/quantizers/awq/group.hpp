// One input group of awq: the statistics of its rows, and the scale that the search found.
#pragma once

#include <ATen/ops/zeros.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "quantizers/awq/candidates.hpp"
#include "quantizers/gram/gram_group.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

// The result of a search over candidates. Losses are mean squared errors of an output.
struct FoundScale {
  std::vector<double> scale;  // [in]; empty if no scale applies
  Candidate candidate;
  double loss = 0;
  double plain_loss = 0;  // without any scale
};

class AwqGroup final : public GramGroup {
 public:
  AwqGroup(int64_t in_features, const quench_group_args& args)
      : GramGroup(in_features, false, kit::torch_device(args.device)),
        args_(args),
        sums_(at::zeros({in_features}, at::TensorOptions(at::kDouble).device(device()))) {}

  void observe(const quench_observe_args& args) override;

  // The mean magnitude of each input channel; the root mean square if the Gram matrix came from
  // elsewhere.
  std::vector<double> input_magnitudes();

  std::pair<uint32_t, uint32_t> place() const { return {args_.block, args_.group}; }
  const quench_group_info& info() const { return *args_.info; }
  // Whether preceding weights can absorb this group's scale.
  bool foldable() const { return args_.info->site_count > 0; }

  // The scale that instance `owner` found for all linears of the group; nullptr if it has not
  // searched.
  const FoundScale* found(const void* owner) const;
  void keep(const void* owner, FoundScale found) { found_[owner] = std::move(found); }

 private:
  quench_group_args args_;
  at::Tensor sums_;  // float64 [in], Σ w * |x|, where the rows are
  std::map<const void*, FoundScale> found_;
};

}  // namespace quench::quantizers
