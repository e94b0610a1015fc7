// shampoo: gradients of hidden matrices between the inverse roots of their second moments by rows
// and by columns, with the length of Adam's step; AdamW on everything else.
//
// | parameter              | type        | default     | range    | meaning                      |
// |------------------------|-------------|-------------|----------|------------------------------|
// | betas                  | number list | [0.9, 0.95] | [0, 1)   | decay of the moments         |
// | epsilon                | number      | 1e-8        | >= 0     | of Adam                      |
// | factor_epsilon         | number      | 1e-12       | >= 0     | added to a factor's diagonal |
// | weight_decay           | number      | 0.1         | >= 0     | λ                            |
// | decoupled              | bool        | false       |          | as of adamw                  |
// | decay                  | choice      |             |          | as of adamw                  |
// | precondition_frequency | int         | 10          | >= 1     | steps between inverse roots  |
// | max_precond_dim        | int         | 2048        | 1..16384 | a longer side has none       |
//
//   optimizer: {shampoo: {precondition_frequency: 10}}
//
// Gupta et al. 2018 (arXiv 1802.09568) and Anil et al., "Scalable Second Order Optimization for
// Deep Learning" (arXiv 2002.09018), in the form of Shi et al., "A Distributed Data-Parallel
// PyTorch Implementation of the Distributed Shampoo Optimizer" (arXiv 2309.06497): moments that
// decay, corrections of their beginning, and the length of Adam's step ("grafting"). Of a matrix W
// [m, n] with gradient G at step t, f = precondition_frequency:
//
//   M ← β₁M + (1 − β₁)G          V ← β₂V + (1 − β₂)G²        A = M/(√V/√(1 − β₂ᵗ) + ε)
//   L ← β₂L + (1 − β₂)GGᵀ        R ← β₂R + (1 − β₂)GᵀG
//   t divisible by f:  P_L ← (L/(1 − β₂ᵗ) + ε_f I)^(−1/4), P_R likewise
//   t < f:   W ← (1 − decay)W − lr/(1 − β₁ᵗ)·A                        (AdamW)
//   t >= f:  S = P_L M P_R,  W ← (1 − decay)W − lr/(1 − β₁ᵗ)·(‖A‖/‖S‖)·S
//
// with element-wise squares, roots and quotients, and Frobenius norms. A side longer than
// `max_precond_dim` has P = 1; the root of the other side is then 2. With both too long the matrix
// is stepped by AdamW. Their program has such sides in blocks instead. Decay is AdamW's.
//
// The role of a tensor says whether it is a hidden matrix, as for muon; a fused query-key-value
// matrix counts as one. State: M, V and the inverse roots, float32; L and R, float64, since a root
// of what rounding leaves of an eigenvalue of 0 would depend on that rounding. Decompositions are
// float64, in one order of sums for any number of threads. All is in host memory.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "optimizers/shampoo/inverse_root.hpp"
#include "optimizers/shared/adamw_rule.hpp"
#include "optimizers/shared/sgd_rule.hpp"
#include "optimizers/shared/state.hpp"
#include "optimizers/shared/step.hpp"
#include "optimizers/shared/weight_decay.hpp"
#include "quench/kit/optimizer.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::optimizers {

namespace {

// One side of a matrix: the running mean P of GGᵀ or GᵀG, whose upper triangle counts, and its
// inverse root.
struct Factor {
  int64_t size = 0;
  std::span<double> moments;
  std::span<float> root;
  bool used() const { return size > 0; }
  at::Tensor root_tensor() const { return at::from_blob(root.data(), {size, size}, at::kFloat); }

  // P ← βP + (1 − β)·rowsᵀ·rows
  void observe(const at::Tensor& rows, double beta) const {
    const at::Tensor p = at::from_blob(moments.data(), {size, size}, at::kDouble);
    p.mul_(beta);
    matrix::add_float64_square(p, rows.to(at::kDouble).mul_(std::sqrt(1 - beta)).contiguous());
  }
};

class Shampoo final : public kit::Optimizer {
 public:
  struct Params : DecaySettings {
    std::vector<double> betas = {0.9, 0.95};
    double epsilon = 1e-8;
    double factor_epsilon = 1e-12;
    int64_t precondition_frequency = 10;
    int64_t max_precond_dim = 2048;
    static void describe(kit::Fields<Params>& f) {
      f.add("betas", &Params::betas,
            "decay of the first and second moment, the latter also of L and R, per step")
          .range(0, 1);
      f.add("epsilon", &Params::epsilon,
            "added to the root of the second moment, in Adam's step, whose length a step has")
          .at_least(0);
      f.add("factor_epsilon", &Params::factor_epsilon, "added to the diagonal of L and R")
          .at_least(0);
      describe_decay(f);
      f.add("precondition_frequency", &Params::precondition_frequency,
            "steps between new inverse roots; before the first a step is Adam's")
          .at_least(1);
      f.add("max_precond_dim", &Params::max_precond_dim,
            "a matrix's side that is longer is not preconditioned")
          .range(1, 16384);
    }
  };

  explicit Shampoo(const Params& params) : params_(params) {
    params.check();
    kit::expects(params.betas.size() == 2 && params.betas[0] < 1 && params.betas[1] < 1,
                 "betas: wanted two numbers below 1");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    if (device.type != QUENCH_DEVICE_CPU) {
      kit::fail(QUENCH_UNSUPPORTED, "this optimizer steps in host memory");
    }
    state_.begin(device);
    tensors_.clear();
    for (const quench_parameter_info& tensor : tensors) {
      const std::string name = tensor.name;
      Tensor made;
      made.first = state_.add("first_moment/" + name, shape_of(tensor));
      made.second = state_.add("second_moment/" + name, shape_of(tensor));
      made.hidden = tensor.role == QUENCH_ROLE_MATRIX;
      if (made.hidden && tensor.dimensions == 2) {
        made.rows = tensor.shape[0];
        made.columns = tensor.shape[1];
        made.left = factor_of("left", name, tensor.shape[0]);
        made.right = factor_of("right", name, tensor.shape[1]);
      }
      tensors_.push_back(made);
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < tensors_.size(), "step: no such tensor");
    const Tensor& tensor = tensors_[args.tensor];
    const Views views = views_of(args, state_.device(), tensor.first.size());
    const AdamWStep numbers =
        adamw_step(args.step, args.lr, params_.removed(args, tensor.hidden), params_.betas[0],
                   params_.betas[1], params_.epsilon, args.gradient_scale);
    if (!tensor.left.used() && !tensor.right.used()) {
      return step_as_adamw(numbers, tensor, views);
    }
    observe(args, tensor);
    if (args.step % static_cast<uint64_t>(params_.precondition_frequency) == 0) {
      take_roots(args.step, tensor);
    }
    if (args.step < static_cast<uint64_t>(params_.precondition_frequency)) {
      return step_as_adamw(numbers, tensor, views);
    }
    step_matrix(numbers, tensor, views);
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    return state_.at(index, name, view);
  }

 private:
  struct Tensor {
    std::span<float> first;
    std::span<float> second;
    bool hidden = false;  // whether it is a hidden matrix
    int64_t rows = 0;     // of one
    int64_t columns = 0;
    Factor left, right;
  };

  Factor factor_of(const std::string& side, const std::string& name, int64_t size) {
    if (size > params_.max_precond_dim) {
      return {};
    }
    return {size, state_.add_numbers(side + "_factor/" + name, {size, size}),
            state_.add(side + "_root/" + name, {size, size})};
  }

  static void step_as_adamw(const AdamWStep& numbers, const Tensor& tensor, const Views& views) {
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      adamw_update(numbers, &views.weight[begin], &views.gradient[begin], &tensor.first[begin],
                   &tensor.second[begin], end - begin);
    });
  }

  void observe(const quench_step_args& args, const Tensor& tensor) const {
    const at::NoGradGuard no_gradients;
    const at::Tensor gradient =
        kit::borrow(*args.gradient).mul(static_cast<float>(args.gradient_scale));
    if (tensor.left.used()) {
      tensor.left.observe(gradient.t(), params_.betas[1]);
    }
    if (tensor.right.used()) {
      tensor.right.observe(gradient, params_.betas[1]);
    }
  }

  void take_roots(uint64_t step, const Tensor& tensor) const {
    const at::NoGradGuard no_gradients;
    const double scale = 1 / (1 - std::pow(params_.betas[1], static_cast<double>(step)));
    const double root = tensor.left.used() && tensor.right.used() ? 4 : 2;
    for (const Factor* side : {&tensor.left, &tensor.right}) {
      if (side->used()) {
        inverse_root(side->moments, side->size, scale, params_.factor_epsilon, root, side->root);
      }
    }
  }

  static void step_matrix(const AdamWStep& s, const Tensor& tensor, const Views& views) {
    const at::NoGradGuard no_gradients;
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float g = s.gradient_scale * views.gradient[i];
        tensor.first[i] += s.first * (g - tensor.first[i]);
        tensor.second[i] = s.beta2 * tensor.second[i] + s.second * (g * g);
      }
    });
    double adam = 0;  // ‖A‖², in one order for any number of threads, as ‖S‖² below
    for (size_t i = 0; i < views.weight.size(); ++i) {
      const double a = tensor.first[i] / (std::sqrt(tensor.second[i]) * s.inverse_root + s.epsilon);
      adam += a * a;
    }
    const at::Tensor first =
        at::from_blob(tensor.first.data(), {tensor.rows, tensor.columns}, at::kFloat);
    const at::Tensor rows =
        tensor.left.used() ? matrix::product(tensor.left.root_tensor(), first) : first;
    const at::Tensor direction =
        (tensor.right.used() ? matrix::product(rows, tensor.right.root_tensor()) : rows)
            .contiguous();
    const auto* d = direction.const_data_ptr<float>();
    double own = 0;
    for (size_t i = 0; i < views.weight.size(); ++i) {
      own += static_cast<double>(d[i]) * d[i];
    }
    const auto rate = own > 0 ? static_cast<float>(s.step * std::sqrt(adam / own)) : 0.0F;
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      take_direction(s.keep, rate, &views.weight[begin], d + begin, end - begin);
    });
  }

  Params params_;
  State state_;
  std::vector<Tensor> tensors_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE(
    "quench.shampoo", "0.1.0",
    quench::kit::optimizer<quench::optimizers::Shampoo>(
        {.id = "shampoo",
         .version = "0.1.0",
         .summary = "Shampoo with the length of Adam's step on hidden matrices, AdamW on "
                    "everything else.",
         .reference = "Anil et al. 2020 (arXiv 2002.09018); Shi et al. 2023 (arXiv 2309.06497)",
         .example = "{precondition_frequency: 10, weight_decay: 0.1}"}))
