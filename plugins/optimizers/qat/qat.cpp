// qat: quantization-aware training. AdamW with the gradient at the rounded weights, applied to the
// weights themselves (straight-through estimator).
//
// | parameter  | type    | default | range | meaning                                   |
// |------------|---------|---------|-------|-------------------------------------------|
// | bits       | integer | 4       | 2..8  | bits per code                             |
// | group_size | integer | 128     | >= -1 | columns that share a scale; -1: the row   |
// | sym        | bool    | true    |       | whether the grid is symmetric around zero |
//
// and the parameters of adamw.
//
//   optimizer: {qat: {bits: 4, group_size: 128}}
//
// Bengio, Léonard and Courville, "Estimating or Propagating Gradients Through Stochastic Neurons
// for Conditional Computation", 2013: rounding is differentiated as if it were the identity. Hidden
// matrices are rounded to nearest on the grid of their groups (shared/grid/grid.hpp), as the
// quantizer rtn does by the same bits; no range is clipped, so nothing is cut off the gradient. One
// gradient a step; the loss that is reported is that of the rounded weights. What is saved are the
// weights before rounding. State: that of adamw.
#include <algorithm>
#include <cmath>

#include "optimizers/shared/adamw_steps.hpp"
#include "optimizers/shared/flat_parameters.hpp"
#include "optimizers/shared/step.hpp"
#include "shared/grid/grid.hpp"

namespace quench::optimizers {

namespace {

class Qat final : public AdamWSteps, public kit::ClosureGradient {
 public:
  struct Params : AdamWSettings {
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    static void describe(kit::Fields<Params>& f) {
      f.add("bits", &Params::bits, "bits per code").range(2, 8);
      f.add("group_size", &Params::group_size,
            "columns of a row that share a scale; -1: the whole row")
          .at_least(-1);
      f.add("sym", &Params::sym, "whether the grid is symmetric around zero");
      describe_adamw(f);
    }
  };

  explicit Qat(const Params& params)
      : AdamWSteps(params), params_(params), kind_{params.bits, params.sym, 0} {
    kit::expects(params.group_size != 0, "group_size: got 0, wanted -1 or at least 1");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    expect_host_memory(device);  // as the closure's vectors
    AdamWSteps::begin(tensors, device);
    rounded_ = flat_parameters(tensors, true);
  }

  void gradient(uint64_t, std::span<const float> weights, const kit::Closure& closure,
                std::span<float> gradient) override {
    point_.assign(weights.begin(), weights.end());
    for (const FlatParameter& tensor : rounded_) {
      round_rows(part_of<float>(point_, tensor), tensor.columns);
    }
    closure(point_, gradient);
  }

 private:
  void round_rows(std::span<float> values, size_t columns) const {
    if (values.empty()) {
      return;
    }
    const size_t group = params_.group_size < 0
                             ? columns
                             : std::min(columns, static_cast<size_t>(params_.group_size));
    const uint64_t grain = std::max<uint64_t>(1, kElementsPerTask / columns);
    kit::parallel_for(values.size() / columns, grain, [&](uint64_t begin, uint64_t end) {
      for (uint64_t row = begin; row < end; ++row) {
        for (size_t first = 0; first < columns; first += group) {
          round_group(values.subspan(row * columns + first, std::min(group, columns - first)));
        }
      }
    });
  }

  void round_group(std::span<float> values) const {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const quantizers::Grid grid = quantizers::grid_of(*low, *high, kind_);
    for (float& value : values) {
      const double code = quantizers::code_of(value, grid.scale, grid.zero, kind_.max_code());
      value = static_cast<float>(grid.scale * (code - grid.zero));
    }
  }

  Params params_;
  quantizers::GridKind kind_;
  std::vector<FlatParameter> rounded_;
  std::vector<float> point_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE("quench.qat", "0.1.0",
              quench::kit::optimizer<quench::optimizers::Qat>(
                  {.id = "qat",
                   .version = "0.1.0",
                   .summary = "Quantization-aware training: AdamW with the gradient at the rounded "
                              "weights, straight through the rounding.",
                   .reference = "Bengio et al. 2013 (arXiv 1308.3432)",
                   .example = "{bits: 4, group_size: 128}"}))
