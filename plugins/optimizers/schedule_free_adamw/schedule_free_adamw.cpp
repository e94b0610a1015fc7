// schedule_free_adamw: AdamW whose average of iterates replaces a decaying schedule.
//
// | parameter    | type        | default     | range  | meaning                                 |
// |--------------|-------------|-------------|--------|-----------------------------------------|
// | betas        | number list | [0.9, 0.95] | (0, 1) | β₁: the point between z and the         |
// |              |             |             |        | average where gradients are taken;      |
// |              |             |             |        | β₂: decay of the second moment          |
// | epsilon      | number      | 1e-8        | >= 0   | added to the second moment's root       |
// | weight_decay | number      | 0.1         | >= 0   | λ, taken at y                           |
// | decoupled    | bool        | false       |        | older name of decay: independent        |
// | decay        | choice      |             |        | coupled if not set, independent or      |
// |              |             |             |        | corrected, as of adamw                  |
//
//   optimizer: {schedule_free_adamw: {betas: [0.9, 0.95], weight_decay: 0.1}}
//
// Defazio et al., "The Road Less Scheduled", NeurIPS 2024, algorithm 1. The average has weights
// γ²/Σγ², where γ is the highest rate so far:
//   z ← z − lr·u − decay·y;  x ← (1 − c) x + c z;  y ← (1 − β₁) z + β₁ x
// The optimizer steps the weights y and takes gradients at y; x is evaluated and saved. Use it with
// a constant rate and a warmup. State: z and the second moment, float32; three numbers per tensor,
// float64.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "optimizers/device/update.hpp"
#include "optimizers/shared/schedule_free_rule.hpp"
#include "optimizers/shared/state.hpp"
#include "optimizers/shared/step.hpp"
#include "optimizers/shared/weight_decay.hpp"
#include "quench/kit/optimizer.hpp"

namespace quench::optimizers {

namespace {

class ScheduleFreeAdamW final : public kit::Optimizer {
 public:
  struct Params : DecaySettings {
    std::vector<double> betas = {0.9, 0.95};
    double epsilon = 1e-8;
    static void describe(kit::Fields<Params>& f) {
      f.add("betas", &Params::betas,
            "the point between iterate and average where gradients are taken; decay of the second "
            "moment")
          .range(0, 1);
      f.add("epsilon", &Params::epsilon, "added to the root of the second moment").at_least(0);
      describe_decay(f);
    }
  };

  explicit ScheduleFreeAdamW(const Params& params) : params_(params) {
    params.check();
    kit::expects(params.betas.size() == 2 && params.betas[0] > 0 && params.betas[0] < 1 &&
                     params.betas[1] < 1,
                 "betas: wanted two numbers below 1, the first above 0");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    expect_host_memory_or_kernels(device);
    state_.begin(device);
    tensors_.clear();
    for (const quench_parameter_info& tensor : tensors) {
      const std::string name = tensor.name;
      tensors_.push_back({state_.add("z/" + name, shape_of(tensor)),
                          state_.add("second_moment/" + name, shape_of(tensor)),
                          state_.add_numbers("average/" + name, {3}),
                          tensor.role == QUENCH_ROLE_MATRIX});
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < tensors_.size(), "step: no such tensor");
    Tensor& tensor = tensors_[args.tensor];
    const Views views = views_of(args, state_.device(), tensor.z.size());
    double& highest_rate = tensor.average[kHighestRate];
    double& sum = tensor.average[kSum];
    double& begun = tensor.average[kBegun];
    if (begun == 0) {
      take_over(views.weight, tensor.z);
      begun = 1;
    }
    highest_rate = std::max(highest_rate, args.lr);
    const double weight = highest_rate * highest_rate;
    sum += weight;
    const double c = sum > 0 ? weight / sum : 0;
    const ScheduleFreeStep numbers = {
        static_cast<float>(args.gradient_scale),
        static_cast<float>(params_.betas[1]),
        static_cast<float>(1 - params_.betas[1]),
        static_cast<float>(
            1 / std::sqrt(1 - std::pow(params_.betas[1], static_cast<double>(args.step)))),
        static_cast<float>(params_.epsilon),
        static_cast<float>(args.lr),
        static_cast<float>(params_.removed(args, tensor.hidden)),
        static_cast<float>(c),
        static_cast<float>(args.lr * (1 - params_.betas[0] * (1 - c)))};
    if (state_.is_on_device()) {
      return update_on_device(
          ScheduleFreeElements{numbers, views.weight.data(), views.gradient.data(), tensor.z.data(),
                               tensor.second.data()},
          views.weight.size(), state_.device());
    }
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      schedule_free_update(numbers, &views.weight[begin], &views.gradient[begin], &tensor.z[begin],
                           &tensor.second[begin], end - begin);
    });
  }

  void evaluation_weights(uint64_t index, const quench_tensor& stepped,
                          const quench_tensor& evaluated) override {
    kit::expects(index < tensors_.size(), "evaluation_weights: no such tensor");
    const Tensor& tensor = tensors_[index];
    const auto y = kit::elements_on<float>(state_.device(), stepped, "stepped");
    const auto x = kit::elements_on<float>(state_.device(), evaluated, "evaluated");
    kit::expects(y.size() == tensor.z.size() && x.size() == y.size(),
                 "evaluation_weights: wanted the shape given to `begin`");
    if (tensor.average[kBegun] == 0) {
      return take_over(y, x);
    }
    if (state_.is_on_device()) {
      return update_on_device(ScheduleFreeAverageElements{1 - 1 / params_.betas[0], y.data(),
                                                          tensor.z.data(), x.data()},
                              y.size(), state_.device());
    }
    for_elements(y.size(), [&](size_t begin, size_t end) {
      schedule_free_average(params_.betas[0], &y[begin], &tensor.z[begin], &x[begin], end - begin);
    });
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    return state_.at(index, name, view);
  }
  void copy_device_state(uint64_t index, void* host, bool set) override {
    state_.copy(index, host, set);
  }

 private:
  static constexpr size_t kHighestRate = 0;
  static constexpr size_t kSum = 1;
  static constexpr size_t kBegun = 2;  // whether z already holds the first weights
  struct Tensor {
    std::span<float> z;
    std::span<float> second;
    std::span<double> average;
    bool hidden = false;  // whether it is a hidden matrix
  };

  // to = from, both where the weights are.
  void take_over(std::span<float> from, std::span<float> to) const {
    if (state_.is_on_device()) {
      return cuda::copy_bytes(state_.device().index, to.data(), from.data(), from.size_bytes());
    }
    std::copy(from.begin(), from.end(), to.begin());
  }

  Params params_;
  State state_;
  std::vector<Tensor> tensors_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE("quench.schedule_free_adamw", "0.1.0",
              quench::kit::optimizer<quench::optimizers::ScheduleFreeAdamW>(
                  {.id = "schedule_free_adamw",
                   .version = "0.1.0",
                   .summary = "AdamW whose average of iterates replaces a schedule.",
                   .reference = "Defazio et al. 2024 (arXiv 2405.15682)",
                   .example = "{betas: [0.9, 0.95], weight_decay: 0.1}"}))
