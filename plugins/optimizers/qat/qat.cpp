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
#include "optimizers/shared/adamw_steps.hpp"
#include "optimizers/shared/flat_arithmetic.hpp"
#include "quench/kit/grid_parameters.hpp"

namespace quench::optimizers {

namespace {

class Qat final : public AdamWSteps, public kit::ClosureGradient {
 public:
  struct Params : AdamWSettings {
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    static void describe(kit::Fields<Params>& f) {
      kit::add_bits(f);
      kit::add_group_size(f);
      f.add("sym", &Params::sym, "whether the grid is symmetric around zero");
      describe_adamw(f);
    }
  };

  explicit Qat(const Params& params)
      : AdamWSteps(params), params_(params), kind_{params.bits, params.sym, 0} {
    kit::expects(params.group_size != 0, "group_size: got 0, wanted -1 or at least 1");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    AdamWSteps::begin(tensors, device);
    flat_.begin(tensors, true, device);
  }

  void gradient(uint64_t, std::span<const float> weights, const kit::Closure& closure,
                std::span<float> gradient) override {
    const std::span<float> point = flat_.point_at(weights);
    for (const FlatParameter& tensor : flat_.moved()) {
      flat_.round_rows(part_of(point, tensor), tensor.columns, params_.group_size, kind_);
    }
    closure(point, gradient);
  }

 private:
  Params params_;
  quantizers::GridKind kind_;
  FlatArithmetic flat_;
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
