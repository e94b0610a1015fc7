// adamw: Adam with weight decay that bypasses the moments.
//
// | parameter    | type        | default     | range  | meaning                                 |
// |--------------|-------------|-------------|--------|-----------------------------------------|
// | betas        | number list | [0.9, 0.95] | [0, 1) | decay of the first and second moment    |
// | epsilon      | number      | 1e-8        | >= 0   | added to the root of the second moment  |
// | weight_decay | number      | 0.1         | >= 0   | λ                                       |
// | decoupled    | bool        | false       |        | false: a step removes lr·λ of a weight, |
// |              |             |             |        | as torch.optim.AdamW; true: (lr/peak)·λ |
//
//   optimizer: {adamw: {betas: [0.9, 0.95], weight_decay: 0.1}}
//
// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2. With
// `decoupled`, s_t = lr_t/peak as in their equation 12, so that rate and decay can be set
// separately. State: both moments, float32.
#include <string>
#include <vector>

#include "optimizers/shared/adamw_rule.hpp"
#include "optimizers/shared/state.hpp"
#include "optimizers/shared/step.hpp"
#include "quench/kit/optimizer.hpp"

namespace quench::optimizers {

namespace {

class AdamW final : public kit::Optimizer {
 public:
  struct Params {
    std::vector<double> betas = {0.9, 0.95};
    double epsilon = 1e-8;
    double weight_decay = 0.1;
    bool decoupled = false;
    static void describe(kit::Fields<Params>& f) {
      f.add("betas", &Params::betas, "decay of the first and second moment, per step").range(0, 1);
      f.add("epsilon", &Params::epsilon, "added to the root of the second moment").at_least(0);
      f.add("weight_decay", &Params::weight_decay, "weight decay λ, see `decoupled`").at_least(0);
      f.add("decoupled", &Params::decoupled,
            "false: a step removes lr * weight_decay of a weight; true: (lr / peak) * "
            "weight_decay");
    }
  };

  explicit AdamW(const Params& params) : params_(params) {
    kit::expects(params.betas.size() == 2 && params.betas[0] < 1 && params.betas[1] < 1,
                 "betas: wanted two numbers below 1");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    expect_host_memory(device);
    state_.clear();
    moments_.clear();
    for (const quench_parameter_info& tensor : tensors) {
      const std::string name = tensor.name;
      moments_.push_back({&state_.add<float>("first_moment/" + name, shape_of(tensor)),
                          &state_.add<float>("second_moment/" + name, shape_of(tensor))});
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < moments_.size(), "step: no such tensor");
    const Moments& moments = moments_[args.tensor];
    const Views views = views_of(args, moments.first->size());
    const AdamWStep numbers =
        adamw_step(args.step, args.lr, decay_of(args, params_.weight_decay, params_.decoupled),
                   params_.betas[0], params_.betas[1], params_.epsilon, args.gradient_scale);
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      adamw_update(numbers, &views.weight[begin], &views.gradient[begin],
                   moments.first->data() + begin, moments.second->data() + begin, end - begin);
    });
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    return state_.at(index, name, view);
  }

 private:
  struct Moments {
    std::vector<float>* first;
    std::vector<float>* second;
  };
  Params params_;
  State state_;
  std::vector<Moments> moments_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE(
    "quench.adamw", "0.1.0",
    quench::kit::optimizer<quench::optimizers::AdamW>(
        {.id = "adamw",
         .version = "0.1.0",
         .summary = "Adam with weight decay outside the moments, coupled to the rate or not.",
         .reference = "Loshchilov and Hutter 2019 (arXiv 1711.05101)",
         .example = "{betas: [0.9, 0.95], weight_decay: 0.1}"}))
