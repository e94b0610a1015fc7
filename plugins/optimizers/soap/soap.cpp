// soap: Adam in the eigenbasis of Shampoo's preconditioners on hidden matrices, AdamW on everything
// else.
//
// | parameter              | type        | default      | range    | meaning                      |
// |------------------------|-------------|--------------|----------|------------------------------|
// | betas                  | number list | [0.95, 0.95] | [0, 1)   | decay of the moments         |
// | epsilon                | number      | 1e-8         | >= 0     | added to the root            |
// | weight_decay           | number      | 0.1          | >= 0     | λ                            |
// | decoupled              | bool        | false        |          | as of adamw                  |
// | decay                  | choice      |              |          | as of adamw                  |
// | precondition_frequency | int         | 10           | >= 1     | steps between new eigenbases |
// | max_precond_dim        | int         | 2048         | 1..16384 | a longer side keeps its own  |
//
//   optimizer: {soap: {precondition_frequency: 10}}
//
// Vyas et al., "SOAP: Improving and Stabilizing Shampoo using Adam" (arXiv 2409.11321),
// algorithm 3. Of a matrix W [m, n] with gradient G:
//
//   G' = Q_Lᵀ G Q_R                M ← β₁M + (1 − β₁)G            M' = Q_Lᵀ M Q_R
//   V ← β₂V + (1 − β₂)G'²          N' = M'/(√V/√(1 − β₂ᵏ) + ε)
//   W ← (1 − decay)W − lr/(1 − β₁ᵏ)·Q_L N' Q_Rᵀ
//   L ← β₂L + (1 − β₂)GGᵀ          R ← β₂R + (1 − β₂)GᵀG
//   every f-th k:  Q_L ← QR(L Q_L), Q_R ← QR(R Q_R)     (algorithm 4: one power iteration)
//
// with element-wise squares, roots and quotients. As in the authors' program, the first step moves
// no weight: it makes L and R and their eigenvectors, largest eigenvalues first, so that no
// gradient is turned by a basis made of it; k counts the steps after it, with Adam's corrections;
// and before a power iteration columns are sorted by their qᵀPq, with them V. A side longer than
// `max_precond_dim` has Q = 1 (the paper's one-sided variant); its basis would take time with the
// cube of its length, here on the processor. Decay is AdamW's.
//
// The role of a tensor says whether it is a hidden matrix, as for muon; a fused query-key-value
// matrix counts as one. State, float32: M and V, and L, Q_L, R and Q_R. Decompositions are float64,
// in one order of sums for any number of threads. The matrices and their weights are in host
// memory.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "optimizers/shared/adamw_rule.hpp"
#include "optimizers/shared/sgd_rule.hpp"
#include "optimizers/shared/state.hpp"
#include "optimizers/shared/step.hpp"
#include "optimizers/shared/weight_decay.hpp"
#include "optimizers/soap/eigenbasis.hpp"
#include "quench/kit/optimizer.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::optimizers {

namespace {

class Soap final : public kit::Optimizer {
 public:
  struct Params : DecaySettings {
    std::vector<double> betas = {0.95, 0.95};
    double epsilon = 1e-8;
    int64_t precondition_frequency = 10;
    int64_t max_precond_dim = 2048;
    static void describe(kit::Fields<Params>& f) {
      f.add("betas", &Params::betas,
            "decay of the first and second moment, the latter also of L and R, per step")
          .range(0, 1);
      f.add("epsilon", &Params::epsilon, "added to the root of the second moment").at_least(0);
      describe_decay(f);
      f.add("precondition_frequency", &Params::precondition_frequency,
            "steps between new eigenbases")
          .at_least(1);
      f.add("max_precond_dim", &Params::max_precond_dim,
            "a matrix's side that is longer keeps its own basis")
          .range(1, 16384);
    }
  };

  explicit Soap(const Params& params) : params_(params) {
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
        made.left = basis_of("left", name, tensor.shape[0]);
        made.right = basis_of("right", name, tensor.shape[1]);
      }
      tensors_.push_back(made);
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < tensors_.size(), "step: no such tensor");
    const Tensor& tensor = tensors_[args.tensor];
    const Views views = views_of(args, state_.device(), tensor.first.size());
    const double decay = params_.removed(args, tensor.hidden);
    if (tensor.left.used() || tensor.right.used()) {
      step_matrix(args, tensor, views, decay);
      return;
    }
    const AdamWStep numbers = adamw_step(args.step, args.lr, decay, params_.betas[0],
                                         params_.betas[1], params_.epsilon, args.gradient_scale);
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      adamw_update(numbers, &views.weight[begin], &views.gradient[begin], &tensor.first[begin],
                   &tensor.second[begin], end - begin);
    });
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    return state_.at(index, name, view);
  }

 private:
  struct Tensor {
    bool hidden = false;  // whether it is a hidden matrix
    std::span<float> first;
    std::span<float> second;  // of a hidden matrix: in the eigenbasis
    Eigenbasis left, right;
  };

  Eigenbasis basis_of(const std::string& side, const std::string& name, int64_t size) {
    if (size > params_.max_precond_dim) {
      return {};
    }
    return {size, state_.add(side + "_factor/" + name, {size, size}),
            state_.add(side + "_basis/" + name, {size, size})};
  }

  void step_matrix(const quench_step_args& args, const Tensor& tensor, const Views& views,
                   double decay) const {
    const at::NoGradGuard no_gradients;
    const at::Tensor gradient = kit::borrow(*args.gradient);
    gradient.mul_(static_cast<float>(args.gradient_scale));
    if (args.step > 1) {
      move(args, tensor, views, decay, gradient);
    }
    if (tensor.left.used()) {
      tensor.left.observe(gradient, params_.betas[1]);
    }
    if (tensor.right.used()) {
      tensor.right.observe(gradient.t(), params_.betas[1]);
    }
    if (args.step == 1) {
      begin_bases(tensor);
    } else if ((args.step - 1) % static_cast<uint64_t>(params_.precondition_frequency) == 0) {
      refresh(tensor, gradient.size(0), gradient.size(1));
    }
  }

  void move(const quench_step_args& args, const Tensor& tensor, const Views& views, double decay,
            const at::Tensor& gradient) const {
    const AdamWStep s = adamw_step(args.step - 1, args.lr, decay, params_.betas[0],
                                   params_.betas[1], params_.epsilon, 1);
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        tensor.first[i] += s.first * (views.gradient[i] - tensor.first[i]);
      }
    });
    const at::Tensor turned = into_bases(tensor, gradient).contiguous();
    const at::Tensor first = at::from_blob(tensor.first.data(), gradient.sizes(), at::kFloat);
    const at::Tensor direction = into_bases(tensor, first).contiguous();
    const auto* g = turned.const_data_ptr<float>();
    auto* m = direction.data_ptr<float>();
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float v = s.beta2 * tensor.second[i] + s.second * (g[i] * g[i]);
        tensor.second[i] = v;
        m[i] = m[i] / (std::sqrt(v) * s.inverse_root + s.epsilon);
      }
    });
    const at::Tensor back = out_of_bases(tensor, direction).contiguous();
    const auto* n = back.const_data_ptr<float>();
    for_elements(views.weight.size(), [&](size_t begin, size_t end) {
      take_direction(s.keep, s.step, &views.weight[begin], n + begin, end - begin);
    });
  }

  // Q_Lᵀ x Q_R
  static at::Tensor into_bases(const Tensor& tensor, const at::Tensor& x) {
    const at::Tensor left = tensor.left.used() ? matrix::product(tensor.left.q().t(), x) : x;
    return tensor.right.used() ? matrix::product(left, tensor.right.q()) : left;
  }
  // Q_L x Q_Rᵀ
  static at::Tensor out_of_bases(const Tensor& tensor, const at::Tensor& x) {
    const at::Tensor left = tensor.left.used() ? matrix::product(tensor.left.q(), x) : x;
    return tensor.right.used() ? matrix::product(left, tensor.right.q().t()) : left;
  }

  static void begin_bases(const Tensor& tensor) {
    for (const Eigenbasis* side : {&tensor.left, &tensor.right}) {
      if (side->used()) {
        side->begin();
      }
    }
  }

  // The second moment goes along with the columns that were sorted.
  static void refresh(const Tensor& tensor, int64_t rows, int64_t columns) {
    if (tensor.left.used()) {
      const std::vector<int64_t> order = tensor.left.refresh();
      sort_second(tensor, rows, columns, [&](int64_t r, int64_t c) {
        return order[static_cast<size_t>(r)] * columns + c;
      });
    }
    if (tensor.right.used()) {
      const std::vector<int64_t> order = tensor.right.refresh();
      sort_second(tensor, rows, columns, [&](int64_t r, int64_t c) {
        return r * columns + order[static_cast<size_t>(c)];
      });
    }
  }
  template <typename From>
  static void sort_second(const Tensor& tensor, int64_t rows, int64_t columns, From from) {
    const std::vector<float> before(tensor.second.begin(), tensor.second.end());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        tensor.second[static_cast<size_t>(r * columns + c)] =
            before[static_cast<size_t>(from(r, c))];
      }
    }
  }

  Params params_;
  State state_;
  std::vector<Tensor> tensors_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE(
    "quench.soap", "0.1.0",
    quench::kit::optimizer<quench::optimizers::Soap>(
        {.id = "soap",
         .version = "0.1.0",
         .summary = "Adam in the eigenbasis of Shampoo's preconditioners on hidden matrices, AdamW "
                    "on everything else.",
         .reference = "Vyas et al. 2024 (arXiv 2409.11321), algorithm 3",
         .example = "{precondition_frequency: 10, weight_decay: 0.1}"}))
