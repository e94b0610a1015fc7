// sgd: stochastic gradient descent with momentum.
//
// | parameter    | type   | default | range  | meaning                                  |
// |--------------|--------|---------|--------|------------------------------------------|
// | momentum     | number | 0.9     | [0, 1) | share of the last update that is kept    |
// | nesterov     | bool   | false   |        | step along g + momentum·m instead of m   |
// | weight_decay | number | 0       | >= 0   | λ                                        |
// | decoupled    | bool   | false   |        | older name of decay: independent         |
// | decay        | choice |         |        | coupled if not set, independent or       |
// |              |        |         |        | corrected, as of adamw                   |
//
//   optimizer: {sgd: {momentum: 0.9}}
//
// m ← momentum·m + g;  w ← (1 − decay) w − lr·m; decay bypasses the momentum. Sutskever et al., "On
// the importance of initialization and momentum in deep learning", ICML 2013. State: the momentum,
// float32.
#include <string>
#include <vector>

#include "optimizers/device/update.hpp"
#include "optimizers/shared/sgd_rule.hpp"
#include "optimizers/shared/state.hpp"
#include "optimizers/shared/step.hpp"
#include "optimizers/shared/weight_decay.hpp"
#include "quench/kit/optimizer.hpp"

namespace quench::optimizers {

namespace {

class Sgd final : public kit::Optimizer {
 public:
  struct Params : DecaySettings {
    double momentum = 0.9;
    bool nesterov = false;
    Params() { weight_decay = 0; }
    static void describe(kit::Fields<Params>& f) {
      f.add("momentum", &Params::momentum, "share of the last update that is kept").range(0, 1);
      f.add("nesterov", &Params::nesterov, "whether to step along g + momentum * m instead of m");
      describe_decay(f);
    }
  };

  explicit Sgd(const Params& params) : params_(params) {
    params.check();
    kit::expects(params.momentum < 1, "momentum: got 1, wanted less");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    expect_host_memory_or_kernels(device);
    state_.begin(device);
    tensors_.clear();
    for (const quench_parameter_info& tensor : tensors) {
      tensors_.push_back({state_.add("momentum/" + std::string(tensor.name), shape_of(tensor)),
                          tensor.role == QUENCH_ROLE_MATRIX});
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < tensors_.size(), "step: no such tensor");
    const Tensor& tensor = tensors_[args.tensor];
    const std::span<float> momentum = tensor.momentum;
    const Views views = views_of(args, state_.device(), momentum.size());
    const double decay = params_.removed(args, tensor.hidden);
    const SgdStep numbers = {static_cast<float>(args.gradient_scale), static_cast<float>(1 - decay),
                             static_cast<float>(params_.momentum), params_.nesterov ? 1.0F : 0.0F,
                             static_cast<float>(args.lr)};
    if (state_.is_on_device()) {
      return update_on_device(
          SgdElements{numbers, views.weight.data(), views.gradient.data(), momentum.data()},
          views.weight.size(), state_.device());
    }
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      sgd_update(numbers, &views.weight[begin], &views.gradient[begin], &momentum[begin],
                 end - begin);
    });
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    return state_.at(index, name, view);
  }
  void copy_device_state(uint64_t index, void* host, bool set) override {
    state_.copy(index, host, set);
  }

 private:
  struct Tensor {
    std::span<float> momentum;
    bool hidden = false;  // whether it is a hidden matrix
  };

  Params params_;
  State state_;
  std::vector<Tensor> tensors_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE("quench.sgd", "0.1.0",
              quench::kit::optimizer<quench::optimizers::Sgd>(
                  {.id = "sgd",
                   .version = "0.1.0",
                   .summary = "Stochastic gradient descent with momentum.",
                   .reference = "Sutskever, Martens, Dahl and Hinton, ICML 2013",
                   .example = "{momentum: 0.9}"}))
