// trace_penalty: AdamW on the loss plus a multiple of the trace of its Hessian where that is
// positive, estimated with one random direction a step.
//
// | parameter | type   | default  | range   | meaning                                     |
// |-----------|--------|----------|---------|---------------------------------------------|
// | strength  | number | 1e-4     | >= 0    | λ: factor on the trace; 0: adamw            |
// | radius    | number | 0.01     | >= 1e-6 | h: how far a weight is moved, both ways     |
// | tensors   | choice | matrices |         | the trace over hidden matrices, or over all |
//
// and the parameters of adamw.
//
//   optimizer: {trace_penalty: {strength: 1e-4, radius: 0.01}}
//
// With v = ±1 drawn for each weight and step, E[vᵀHv] = tr H (Hutchinson 1990). The second central
// difference along v is that but for the fourth derivative,
//
//   P(θ) = [L(θ + hv) − 2L(θ) + L(θ − hv)] / h² = vᵀHv + O(h²),
//
// and its gradient needs gradients alone: a step follows
//
//   g(θ) + λ/h² · [(g(θ + hv) − g(θ)) + (g(θ − hv) − g(θ))],
//
// the exact gradient of L + λP, or g(θ) alone where P < 0: the objective is L + λ·max(0, P).
// Without that bound it falls without end towards saddles: a model of width 96 came to a trace of
// −4800. With h about as large as a rounding error, P is the mean curvature that rounding meets.
// Three gradients a step. State: that of adamw.
#include <string>

#include "optimizers/shared/adamw_steps.hpp"
#include "optimizers/shared/flat_arithmetic.hpp"
#include "shared/random/random_vector.hpp"

namespace quench::optimizers {

namespace {

class TracePenalty final : public AdamWSteps, public kit::ClosureGradient {
 public:
  struct Params : AdamWSettings {
    double strength = 1e-4;
    double radius = 0.01;
    std::string tensors = "matrices";
    static void describe(kit::Fields<Params>& f) {
      f.add("strength", &Params::strength, "λ: factor on the trace of the Hessian").at_least(0);
      f.add("radius", &Params::radius, "h: how far each weight is moved, both ways").at_least(1e-6);
      f.add("tensors", &Params::tensors, "the tensors of the trace: hidden matrices alone, or all")
          .choices("matrices|all");
      describe_adamw(f);
    }
  };

  explicit TracePenalty(const Params& params) : AdamWSteps(params), params_(params) {}

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    AdamWSteps::begin(tensors, device);
    flat_.begin(tensors, params_.tensors == "matrices", device);
  }

  void gradient(uint64_t step, std::span<const float> weights, const kit::Closure& closure,
                std::span<float> gradient) override {
    const double here = closure(weights, gradient);
    const std::span<float> above = above_.take(weights.size(), flat_.device());
    const std::span<float> below = below_.take(weights.size(), flat_.device());
    const double loss_above = closure(moved(step, params_.radius, weights), above);
    const double loss_below = closure(moved(step, -params_.radius, weights), below);
    if (loss_above + loss_below < 2 * here) {
      return;
    }
    flat_.add_second_difference(params_.strength / (params_.radius * params_.radius), above, below,
                                gradient);
  }

 private:
  // weights + distance · v of this step; valid until the next call.
  std::span<const float> moved(uint64_t step, double distance, std::span<const float> weights) {
    const std::span<float> point = flat_.point_at(weights);
    for (const FlatParameter& tensor : flat_.moved()) {
      signs_.resize(tensor.elements);
      random::draw_signs<float>(std::to_string(step) + "/" + tensor.name, signs_);
      flat_.move_along_drawn(part_of(weights, tensor), distance, signs_, part_of(point, tensor));
    }
    return point;
  }

  Params params_;
  FlatArithmetic flat_;
  FlatVector above_;          // g(θ + hv)
  FlatVector below_;          // g(θ − hv)
  std::vector<float> signs_;  // of one tensor, in host memory
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE("quench.trace_penalty", "0.1.0",
              quench::kit::optimizer<quench::optimizers::TracePenalty>(
                  {.id = "trace_penalty",
                   .version = "0.1.0",
                   .summary = "AdamW on the loss plus a multiple of the trace of its Hessian where "
                              "that is positive, by one random direction a step.",
                   .reference = "Hutchinson 1990",
                   .example = "{strength: 1e-4, radius: 0.01}"}))
