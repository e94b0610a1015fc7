// noise_injection: AdamW with the gradient at weights to which fresh Gaussian noise is added in
// each step.
//
// | parameter | type   | default  | range | meaning                                     |
// |-----------|--------|----------|-------|---------------------------------------------|
// | sigma     | number | 0.05     | >= 0  | σ: standard deviation; 0: adamw             |
// | relative  | bool   | true     |       | σ in units of the tensor's root mean square |
// | tensors   | choice | matrices |       | noise on hidden matrices, or on all         |
//
// and the parameters of adamw.
//
//   optimizer: {noise_injection: {sigma: 0.05}}
//
// The step's gradient is g(θ + σξ) with ξ ~ N(0, 1): in the mean over ξ that of
// L + ½σ²·tr H (Bishop, "Training with Noise is Equivalent to Tikhonov Regularization", 1995; for
// noise on weights An 1996). One gradient a step; the loss that is reported is that of the noisy
// weights. State: that of adamw.
#include <cmath>
#include <string>

#include "optimizers/shared/adamw_steps.hpp"
#include "optimizers/shared/flat_arithmetic.hpp"
#include "shared/random/random_vector.hpp"

namespace quench::optimizers {

namespace {

class NoiseInjection final : public AdamWSteps, public kit::ClosureGradient {
 public:
  struct Params : AdamWSettings {
    double sigma = 0.05;
    bool relative = true;
    std::string tensors = "matrices";
    static void describe(kit::Fields<Params>& f) {
      f.add("sigma", &Params::sigma, "σ: standard deviation of the noise").at_least(0);
      f.add("relative", &Params::relative, "σ in units of the root mean square of the tensor");
      f.add("tensors", &Params::tensors, "the tensors with noise: hidden matrices alone, or all")
          .choices("matrices|all");
      describe_adamw(f);
    }
  };

  explicit NoiseInjection(const Params& params) : AdamWSteps(params), params_(params) {}

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    AdamWSteps::begin(tensors, device);
    flat_.begin(tensors, params_.tensors == "matrices", device);
  }

  void gradient(uint64_t step, std::span<const float> weights, const kit::Closure& closure,
                std::span<float> gradient) override {
    const std::vector<double> deviations = deviations_of(weights);
    const std::span<float> point = flat_.point_at(weights);
    for (size_t t = 0; t < deviations.size(); ++t) {
      const FlatParameter& tensor = flat_.moved()[t];
      noise_.resize(tensor.elements);
      random::draw_normal<float>(std::to_string(step) + "/" + tensor.name, noise_);
      flat_.move_along_drawn(part_of(weights, tensor), deviations[t], noise_,
                             part_of(point, tensor));
    }
    closure(point, gradient);
  }

 private:
  // The standard deviation of each moved tensor's noise.
  std::vector<double> deviations_of(std::span<const float> weights) {
    if (!params_.relative) {
      return std::vector<double>(flat_.moved().size(), params_.sigma);
    }
    std::vector<double> out = flat_.squared_norms(weights);
    for (size_t t = 0; t < out.size(); ++t) {
      const size_t elements = flat_.moved()[t].elements;
      out[t] = elements == 0 ? params_.sigma
                             : params_.sigma * std::sqrt(out[t] / static_cast<double>(elements));
    }
    return out;
  }

  Params params_;
  FlatArithmetic flat_;
  std::vector<float> noise_;  // of one tensor, in host memory
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE("quench.noise_injection", "0.1.0",
              quench::kit::optimizer<quench::optimizers::NoiseInjection>(
                  {.id = "noise_injection",
                   .version = "0.1.0",
                   .summary = "AdamW with the gradient at weights to which each step adds fresh "
                              "Gaussian noise.",
                   .reference = "An 1996",
                   .example = "{sigma: 0.05}"}))
