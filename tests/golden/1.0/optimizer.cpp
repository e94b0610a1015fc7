// golden_optimizer: stochastic gradient descent with momentum and decoupled weight decay.
//
// | parameter    | type   | default | range  | meaning                                       |
// |--------------|--------|---------|--------|-----------------------------------------------|
// | momentum     | number | 0.9     | 0 .. 1 | share of the last update that is kept          |
// | weight_decay | number | 0       | >= 0   | share of a weight removed, times the rate     |
//
//   optimizer: {golden_optimizer: {momentum: 0.9}}
//
// m ← momentum·m + scale·gradient;   w ← w − lr·m − lr·weight_decay·w
#include <string>
#include <vector>

#include "quench/kit/optimizer.hpp"

namespace kit = quench::kit;

namespace {

class GoldenOptimizer final : public kit::Optimizer {
 public:
  struct Params {
    double momentum = 0.9;
    double weight_decay = 0;
    static void describe(kit::Fields<Params>& f) {
      f.add("momentum", &Params::momentum, "share of the last update that is kept").range(0, 1);
      f.add("weight_decay", &Params::weight_decay,
            "share of a weight that each step removes, times the learning rate")
          .at_least(0);
    }
  };
  explicit GoldenOptimizer(const Params& params) : params_(params) {}

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    if (device.type != QUENCH_DEVICE_CPU) {
      kit::fail(QUENCH_UNSUPPORTED, "this optimizer runs in host memory");
    }
    momenta_.clear();
    names_.clear();
    for (const quench_parameter_info& tensor : tensors) {
      momenta_.emplace_back(std::vector<int64_t>(tensor.shape, tensor.shape + tensor.dimensions));
      names_.push_back("momentum/" + std::string(tensor.name));
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < momenta_.size(), "step: no such tensor");
    std::vector<double>& momentum = momenta_[args.tensor].values();
    std::vector<double> weight = kit::to_doubles(*args.weight, "weight");
    const std::vector<double> gradient = kit::to_doubles(*args.gradient, "gradient");
    kit::expects(weight.size() == momentum.size() && gradient.size() == momentum.size(),
                 "step: weight and gradient: wanted the shape given to `begin`");
    const double decay = args.decays != 0 ? params_.weight_decay : 0;
    for (size_t i = 0; i < weight.size(); ++i) {
      momentum[i] = params_.momentum * momentum[i] + args.gradient_scale * gradient[i];
      weight[i] -= args.lr * momentum[i] + args.lr * decay * weight[i];
    }
    kit::from_doubles(weight, *args.weight, "weight");
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    if (index >= momenta_.size()) {
      return false;
    }
    name = names_[index].c_str();
    view = momenta_[index].view();
    return true;
  }

 private:
  Params params_;
  std::vector<kit::OwnedTensor<double>> momenta_;
  std::vector<std::string> names_;
};

}  // namespace

QUENCH_MODULE("golden_optimizer", "0.1.0",
              kit::optimizer<GoldenOptimizer>(
                  {.id = "golden_optimizer",
                   .version = "0.1.0",
                   .summary = "Stochastic gradient descent with momentum and decoupled decay.",

                   .example = "{momentum: 0.9}"}))
