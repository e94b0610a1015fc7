// AutoRound (SignRound, Cheng et al. 2023): learns by sign gradient descent which way each weight
// is rounded, and how much of its group's range the grid spans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantizers/autoround/block_objective.hpp"
#include "quantizers/autoround/tuning.hpp"
#include "quantizers/gram/gram_group.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class AutoRound final : public kit::Quantizer {
 public:
  struct Params {
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    int64_t iterations = 200;
    std::optional<double> lr;
    std::optional<double> minmax_lr;
    bool minmax = true;
    int64_t batch_tokens = 16384;
    std::string objective = "block";
    std::string target = "float";
    std::vector<std::string> modules;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit AutoRound(const Params& params);
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }
  static void add_functions(quench_quantizer_table& table);

  // Before the first linear of a group is quantized: the first group of a block tunes all linears
  // of the block. `weight`: any of the group's.
  void prepare(const quench_tensor& weight);

 private:
  // A tuned linear that waits for its turn.
  struct Waiting {
    std::unique_ptr<TunedLinear> linear;
    Tuned tuned;
    bool first = false;  // of those that were tuned together
  };

  ModuleSetting setting_of(const quench_linear_info& linear) const;
  TuningOptions options(std::string stream) const;
  std::unique_ptr<TunedLinear> tuned_linear(const quench_linear_info& linear,
                                            at::Tensor weight) const;
  void tune_block(const quench_replay_place& place, bool float64);
  Waiting tune_alone(GramGroup& group, const quench_linear_info& linear, at::Tensor weight,
                     kit::QuantizeSink& sink) const;
  void quantize_linear(GramGroup& group, const kit::LinearToQuantize& linear,
                       kit::QuantizeSink& sink);

  Params params_;
  ModuleRules rules_;
  bool is_tuned_ = false;                   // the block whose groups have begun
  std::map<std::string, Waiting> waiting_;  // by the parameter of the weight
};

}  // namespace quench::quantizers
