// muon: orthogonalized momentum on hidden matrices, AdamW on everything else.
//
// | parameter    | type        | default     | range  | meaning                                  |
// |--------------|-------------|-------------|--------|------------------------------------------|
// | momentum     | number      | 0.95        | [0, 1) | share of the last direction that is kept |
// | nesterov     | bool        | true        |        | orthogonalize g + momentum·m, not m      |
// | iterations   | int         | 5           | 1..50  | Newton-Schulz iterations                 |
// | betas        | number list | [0.9, 0.95] | [0, 1) | of AdamW                                 |
// | epsilon      | number      | 1e-8        | >= 0   | of AdamW                                 |
// | weight_decay | number      | 0.1         | >= 0   | λ, for both                              |
// | decoupled    | bool        | false       |        | older name of decay: independent         |
// | decay        | choice      |             |        | coupled if not set, independent or       |
// |              |             |             |        | corrected, as of adamw                   |
// | split        | string      |             |        | part of a fused matrix's name            |
// | split_parts  | int         |             | 2..64  | matrices that are fused in it, else 3    |
// | split_rows   | int         |             | >= 0   | neighbouring rows of one of them, or all |
//
//   optimizer: {muon: {momentum: 0.95, weight_decay: 0.1}}
//
// Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024. The update of a
// matrix [out, in] is scaled by 0.2·√max(out, in), which gives it the root mean square of AdamW's
// updates, so that one rate serves both (Liu et al., "Muon is Scalable for LLM Training", 2025,
// equation 4). The role of a tensor says whether it is a hidden matrix; AdamW updates embeddings,
// the output head, norms and biases. A fused query-key-value matrix counts as one matrix, unless
// `split` names it, a part of its name: then each of its `split_parts` matrices is orthogonalized
// by itself and scaled by its own shape, as separate ones are. Their rows lie one matrix after the
// other, or, with `split_rows`, in turns of so many: GPT-NeoX has the query, key and value of a
// head side by side, so there it is the width of a head. State: the momentum, or both moments,
// float32.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "optimizers/device/update.hpp"
#include "optimizers/muon/fused_rows.hpp"
#include "optimizers/shared/adamw_rule.hpp"
#include "optimizers/shared/sgd_rule.hpp"
#include "optimizers/shared/state.hpp"
#include "optimizers/shared/step.hpp"
#include "optimizers/shared/weight_decay.hpp"
#include "quench/kit/optimizer.hpp"
#include "quench/kit/torch.hpp"

namespace quench::optimizers {

namespace {

constexpr double kRootMeanSquare = 0.2;  // of AdamW's updates, relative to the rate

class Muon final : public kit::Optimizer {
 public:
  struct Params : DecaySettings {
    double momentum = 0.95;
    bool nesterov = true;
    int64_t iterations = 5;
    std::vector<double> betas = {0.9, 0.95};
    double epsilon = 1e-8;
    std::optional<std::string> split;
    std::optional<int64_t> split_parts;
    std::optional<int64_t> split_rows;
    static void describe(kit::Fields<Params>& f) {
      f.add("momentum", &Params::momentum, "share of the last direction that is kept").range(0, 1);
      f.add("nesterov", &Params::nesterov,
            "whether to orthogonalize g + momentum * m instead of m");
      f.add("iterations", &Params::iterations, "Newton-Schulz iterations").range(1, 50);
      f.add("betas", &Params::betas, "betas of AdamW, for tensors that are not hidden matrices")
          .range(0, 1);
      f.add("epsilon", &Params::epsilon, "epsilon of AdamW").at_least(0);
      describe_decay(f);
      f.add("split", &Params::split,
            "part of the name of fused matrices whose parts are orthogonalized by themselves, such "
            "as query_key_value; of none if not set");
      f.add("split_parts", &Params::split_parts, "how many matrices such a one holds; 3 if not set")
          .range(2, 64);
      f.add("split_rows", &Params::split_rows,
            "rows of one part that lie together, such as those of a head; all of them if 0 or not "
            "set")
          .at_least(0);
    }
  };

  explicit Muon(const Params& params) : params_(params) {
    params.check();
    kit::expects(params.momentum < 1, "momentum: got 1, wanted less");
    kit::expects(params.split || (!params.split_parts && !params.split_rows),
                 "split_parts and split_rows: wanted only beside `split`");
    kit::expects(!params.split || !params.split->empty(), "split: got '', wanted part of a name");
    kit::expects(params.betas.size() == 2 && params.betas[0] < 1 && params.betas[1] < 1,
                 "betas: wanted two numbers below 1");
  }

  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override {
    expect_host_memory_or_kernels(device);
    state_.begin(device);
    tensors_.clear();
    bool found = !params_.split;
    for (const quench_parameter_info& tensor : tensors) {
      const std::string name = tensor.name;
      Tensor made;
      made.hidden = tensor.role == QUENCH_ROLE_MATRIX;
      if (made.hidden && tensor.dimensions == 2) {
        made.rows = tensor.shape[0];
        made.columns = tensor.shape[1];
        if (params_.split && name.find(*params_.split) != std::string::npos) {
          made.fused = fused_rows(name, made.rows, params_.split_parts.value_or(3),
                                  params_.split_rows.value_or(0));
          found = true;
        }
        made.first = state_.add("momentum/" + name, shape_of(tensor));
      } else {
        made.first = state_.add("first_moment/" + name, shape_of(tensor));
        made.second = state_.add("second_moment/" + name, shape_of(tensor));
      }
      tensors_.push_back(made);
    }
    if (!found) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "split: no hidden matrix has '%s' in its name",
                params_.split->c_str());
    }
  }

  void step(const quench_step_args& args) override {
    kit::expects(args.tensor < tensors_.size(), "step: no such tensor");
    const Tensor& tensor = tensors_[args.tensor];
    const Views views = views_of(args, state_.device(), tensor.first.size());
    const double decay = params_.removed(args, tensor.hidden);
    if (!tensor.second.empty()) {
      const AdamWStep numbers = adamw_step(args.step, args.lr, decay, params_.betas[0],
                                           params_.betas[1], params_.epsilon, args.gradient_scale);
      if (state_.is_on_device()) {
        return update_on_device(AdamWElements{numbers, views.weight.data(), views.gradient.data(),
                                              tensor.first.data(), tensor.second.data()},
                                views.weight.size(), state_.device());
      }
      for_elements(views.weight.size(), [&](size_t begin, size_t end) {
        adamw_update(numbers, &views.weight[begin], &views.gradient[begin], &tensor.first[begin],
                     &tensor.second[begin], end - begin);
      });
      return;
    }
    step_matrix(args, tensor, views, decay);
  }

  bool state(uint64_t index, const char*& name, quench_tensor& view) override {
    return state_.at(index, name, view);
  }
  void copy_device_state(uint64_t index, void* host, bool set) override {
    state_.copy(index, host, set);
  }

 private:
  struct Tensor {
    bool hidden = false;  // whether it is a hidden matrix
    int64_t rows = 0;
    int64_t columns = 0;
    FusedRows fused;
    std::span<float> first;   // momentum, or AdamW's first moment
    std::span<float> second;  // AdamW's second moment; empty for hidden matrices
  };

  // Writes the direction over the gradient, which the host no longer needs.
  void step_matrix(const quench_step_args& args, const Tensor& tensor, const Views& views,
                   double decay) const {
    const MomentumStep numbers = {static_cast<float>(args.gradient_scale),
                                  static_cast<float>(params_.momentum), params_.nesterov};
    const size_t elements = views.weight.size();
    if (state_.is_on_device()) {
      update_on_device(MomentumElements{numbers, views.gradient.data(), tensor.first.data()},
                       elements, state_.device());
    } else {
      for_elements(elements, [&](size_t begin, size_t end) {
        momentum_direction(numbers, &views.gradient[begin], &tensor.first[begin], end - begin);
      });
    }
    orthogonalize_parts(kit::borrow(*args.gradient), tensor.fused, params_.iterations);
    const int64_t rows = tensor.rows / tensor.fused.parts;
    const double width = std::sqrt(static_cast<double>(std::max(rows, tensor.columns)));
    const auto keep = static_cast<float>(1 - decay);
    const auto rate = static_cast<float>(args.lr * kRootMeanSquare * width);
    if (state_.is_on_device()) {
      return update_on_device(
          DirectionElements{keep, rate, views.weight.data(), views.gradient.data()}, elements,
          state_.device());
    }
    for_elements(elements, [&](size_t begin, size_t end) {
      take_direction(keep, rate, &views.weight[begin], &views.gradient[begin], end - begin);
    });
  }

  Params params_;
  State state_;
  std::vector<Tensor> tensors_;
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE(
    "quench.muon", "0.1.0",
    quench::kit::optimizer<quench::optimizers::Muon>(
        {.id = "muon",
         .version = "0.1.0",
         .summary = "Orthogonalized momentum on hidden matrices, AdamW on everything else.",
         .reference = "Jordan et al. 2024; Liu et al. 2025 (arXiv 2502.16982)",
         .example = "{momentum: 0.95, weight_decay: 0.1}"}))
