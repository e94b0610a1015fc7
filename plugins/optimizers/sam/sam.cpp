// sam: AdamW with the gradient of the worst neighbour, which is lower in flat minima; or of the
// best one, which seeks sharp minima.
//
// | parameter | type   | default | range | meaning                                   |
// |-----------|--------|---------|-------|-------------------------------------------|
// | rho       | number | 0.05    | >= 0  | ρ: distance of the neighbour; 0: adamw    |
// | direction | choice | ascent  |       | ascent: θ + ρ·g/‖g‖, towards flat minima; |
// |           |        |         |       | descent: θ − ρ·g/‖g‖, towards sharp ones  |
// | tensors   | choice | all     |       | all, or matrices: g/‖g‖ is of these alone |
//
// and the parameters of adamw.
//
//   optimizer: {sam: {rho: 0.05, weight_decay: 0.1}}
//
// Foret, Kleiner, Mobahi and Neyshabur, "Sharpness-Aware Minimization for Efficiently Improving
// Generalization", ICLR 2021, algorithm 1 with p = 2: ε = ρ·g(θ)/‖g(θ)‖ over all tensors at once
// (equation 2), the step's gradient is g(θ + ε), with ε held constant (equation 3). To first order
// it descends L + ρ‖g‖; with `descent`, L − ρ‖g‖. Two gradients a step. State: that of adamw.
#include <cmath>
#include <string>

#include "optimizers/shared/adamw_steps.hpp"
#include "optimizers/shared/flat_arithmetic.hpp"

namespace quench::optimizers {

namespace {

class Sam final : public AdamWSteps, public kit::ClosureGradient {
 public:
  struct Params : AdamWSettings {
    double rho = 0.05;
    std::string direction = "ascent";
    std::string tensors = "all";
    static void describe(kit::Fields<Params>& f) {
      f.add("rho", &Params::rho, "ρ: distance of the weights at which the gradient is taken")
          .at_least(0);
      f.add("direction", &Params::direction,
            "ascent: along the gradient, towards flat minima; descent: against it, towards sharp "
            "ones")
          .choices("ascent|descent");
      f.add("tensors", &Params::tensors,
            "the tensors that are moved: all, or hidden matrices alone")
          .choices("all|matrices");
      describe_adamw(f);
    }
  };

  explicit Sam(const Params& params) : AdamWSteps(params), params_(params) {}

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    AdamWSteps::begin(tensors, device);
    flat_.begin(tensors, params_.tensors == "matrices", device);
  }

  void gradient(uint64_t, std::span<const float> weights, const kit::Closure& closure,
                std::span<float> gradient) override {
    closure(weights, gradient);
    double squares = 0;
    for (const double of_tensor : flat_.squared_norms(gradient)) {
      squares += of_tensor;
    }
    const double norm = std::sqrt(squares);
    if (norm == 0 || !std::isfinite(norm)) {
      return;  // no direction; the host reports what is not finite
    }
    const double factor = (params_.direction == "ascent" ? params_.rho : -params_.rho) / norm;
    const std::span<float> neighbour = flat_.point_at(weights);
    for (const FlatParameter& tensor : flat_.moved()) {
      flat_.move(part_of(weights, tensor), factor, part_of<const float>(gradient, tensor),
                 part_of(neighbour, tensor));
    }
    closure(neighbour, gradient);
  }

 private:
  Params params_;
  FlatArithmetic flat_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE("quench.sam", "0.1.0",
              quench::kit::optimizer<quench::optimizers::Sam>(
                  {.id = "sam",
                   .version = "0.1.0",
                   .summary = "AdamW with the gradient of the worst neighbour, towards flat "
                              "minima, or of the best one, towards sharp ones.",
                   .reference = "Foret et al. 2021 (arXiv 2010.01412)",
                   .example = "{rho: 0.05, weight_decay: 0.1}"}))
