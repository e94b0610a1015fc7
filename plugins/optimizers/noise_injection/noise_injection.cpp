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
#include "optimizers/shared/flat_parameters.hpp"
#include "optimizers/shared/step.hpp"
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
    expect_host_memory(device);  // as the closure's vectors
    AdamWSteps::begin(tensors, device);
    moved_ = flat_parameters(tensors, params_.tensors == "matrices");
  }

  void gradient(uint64_t step, std::span<const float> weights, const kit::Closure& closure,
                std::span<float> gradient) override {
    point_.assign(weights.begin(), weights.end());
    for (const FlatParameter& tensor : moved_) {
      const std::span<const float> values = part_of(weights, tensor);
      noise_.resize(tensor.elements);
      random::draw_normal<float>(std::to_string(step) + "/" + tensor.name, noise_);
      add_scaled(values, deviation_of(values), noise_, part_of<float>(point_, tensor));
    }
    closure(point_, gradient);
  }

 private:
  double deviation_of(std::span<const float> values) const {
    if (!params_.relative || values.empty()) {
      return params_.sigma;
    }
    return params_.sigma * std::sqrt(squared_norm(values) / static_cast<double>(values.size()));
  }

  Params params_;
  std::vector<FlatParameter> moved_;
  std::vector<float> point_;
  std::vector<float> noise_;  // of one tensor
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
