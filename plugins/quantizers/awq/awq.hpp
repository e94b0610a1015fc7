// AWQ (Lin et al. 2023) scales up the important input channels before rounding, so that their
// weights are rounded more finely.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quantizers/awq/group.hpp"
#include "quantizers/awq/objective.hpp"
#include "quantizers/awq/replay.hpp"
#include "quantizers/cache/settings.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "quantizers/inputs/settings.hpp"
#include "quantizers/rotated/settings.hpp"
#include "quench/kit/quantizer.hpp"
#include "quench/kit/transform.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

class Awq final : public kit::Quantizer {
 public:
  struct Params : ActivationParameters, RotationParameters, CacheParameters {
    std::string preset = "none";
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = false;
    std::optional<std::string> format;
    std::optional<double> mse;
    std::string grid = "widened";
    std::string ratios = "llm_compressor";
    int64_t candidates = 20;
    std::string duo = "on";
    std::string clip = "off";
    int64_t clip_steps = 20;
    double clip_least = 0.5;
    std::string unfoldable = "explicit";
    std::string share = "group";
    std::string objective = "gram";
    std::string inputs = "float";
    std::vector<std::string> unscaled;
    std::vector<std::string> modules;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Awq(const Params& params);
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  // Searches the scale of a group, given the weights of all its linears
  // (`prepare`).
  void prepare(AwqGroup& group, const quench_tensor* weights, uint32_t count);
  // Forgets the scales of an earlier pass. The host then folds those of all groups prepared since
  // (`apply_plan`).
  void begin_pass() { plan_.clear(); }
  void apply_plan(kit::ModelEditor& model) const;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  // The statistics depend on neither the grid nor the candidates.
  bool accepts_groups_of(const kit::Quantizer& other) const override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  static void add_functions(quench_quantizer_table& table);
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  ModuleSetting setting_of(const quench_linear_info& linear) const;
  ScaledWeight scaled(const at::Tensor& weight, const ModuleSetting& setting,
                      const char* name) const;
  // Whether kernels round weights that are on a device.
  bool by_kernels() const;
  // Where a weight is rounded: where its group's rows are, or on the host.
  at::Device device_of(const AwqGroup& group) const;
  // Whether the search runs blocks instead of reading the Gram matrix.
  bool replays(const AwqGroup& group) const;
  // Why a group's inputs are not scaled; empty if they are.
  std::string unscaled_because(const AwqGroup& group) const;
  FoundScale search(AwqGroup& group, std::span<const NamedWeight> weights) const;
  Limits limits_for(const ScaledWeight& weight, std::span<const double> scale,
                    const quench_linear_info& linear, const GramObjective& objective) const;
  void quantize_linear(AwqGroup& group, const kit::LinearToQuantize& linear,
                       kit::QuantizeSink& sink);
  // Codes and the weight; `codes_alone`, if it is defined, becomes the weight of the codes without
  // the scale. Returns the bits per weight.
  double write_codes(const ScaledWeight& weight, const FoundScale& found, const Limits& limits,
                     const kit::LinearToQuantize& linear, kit::QuantizeSink& sink,
                     const at::Tensor& codes_alone) const;
  double write_format(const ScaledWeight& weight, const FoundScale& found, const Limits& limits,
                      const kit::LinearToQuantize& linear, kit::QuantizeSink& sink,
                      const at::Tensor& codes_alone) const;
  void report(AwqGroup& group, const FoundScale& found, const std::string& unscaled,
              kit::QuantizeSink& sink) const;

  Params params_;
  ModuleRules rules_;
  ActivationSettings activations_;
  CacheSettings cache_;
  const number_formats::NumberFormat* format_;                         // null: the integer grid
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> plan_;  // scales by (block, group)
};

}  // namespace quench::quantizers
