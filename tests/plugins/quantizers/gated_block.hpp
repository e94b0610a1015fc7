// A stand-in for the host's block service that also differentiates (quench/abi/extension/block.h):
// a block of one group of two linears, whose output is tanh(x W0') * (x W1'), element by element.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "quench/abi/extension/block.h"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/plugins/quantizers/matrix.hpp"

namespace quench::test {

// One at a time. As long as it lives, kit code of this process finds the service beside those of
// the host before it. Batches stand before the only stage. Of the linears "linear0" and "linear1";
// `float_batches`: the float model's rows.
class GatedBlock {
 public:
  GatedBlock(std::vector<Matrix> batches, std::vector<Matrix> float_batches,
             std::vector<Matrix> weights)
      : batches_(std::move(batches)),
        float_batches_(std::move(float_batches)),
        weights_{{"linear0", weights[0]}, {"linear1", weights[1]}} {
    current = this;
    host_ = *before_;
    host_.service = find;
    kit::current_host = &host_;
    for (size_t l = 0; l < 2; ++l) {
      linears_[l] = {sizeof linears_[l], 0,       names_[l],       "q",
                     names_[l],          nullptr, weights[l].rows, weights[l].columns};
    }
    group_.struct_size = sizeof group_;
    group_.rows = -1;
    group_.expert = -1;
    group_.linear_count = 2;
    group_.linears = linears_;
    info_ = {sizeof info_, 1, 1, &group_};
    table_ = {sizeof table_, place, replay, weight, gradient, float_output};
  }
  ~GatedBlock() {
    kit::current_host = before_;
    current = nullptr;
  }
  GatedBlock(const GatedBlock&) = delete;
  GatedBlock& operator=(const GatedBlock&) = delete;

  // As a host of ABI 1.0 has it.
  void forget_gradients() { table_.struct_size = offsetof(quench_block_service, gradient); }

  // The batches whose gradient was asked for, in order.
  const std::vector<uint64_t>& asked() const { return asked_; }

  // The mean squared difference between outputs with these weights on these rows and targets.
  static double mean_error(const std::vector<Matrix>& batches, const std::vector<Matrix>& with,
                           const std::vector<Matrix>& target_batches,
                           const std::vector<Matrix>& target_weights) {
    double sum = 0;
    double count = 0;
    for (size_t b = 0; b < batches.size(); ++b) {
      const Matrix made = output(batches[b], with[0], with[1]);
      const Matrix wanted = output(target_batches[b], target_weights[0], target_weights[1]);
      for (size_t i = 0; i < made.values.size(); ++i) {
        sum += (made.values[i] - wanted.values[i]) * (made.values[i] - wanted.values[i]);
        count += 1;
      }
    }
    return sum / count;
  }

 private:
  static inline GatedBlock* current = nullptr;
  using Weights = std::map<std::string, Matrix>;

  static Matrix output(const Matrix& x, const Matrix& w0, const Matrix& w1) {
    Matrix out = product(x, transposed(w0));
    const Matrix gate = product(x, transposed(w1));
    for (size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = std::tanh(out.values[i]) * gate.values[i];
    }
    return out;
  }

  static const void* find(const quench_host*, const char* id) noexcept {
    const quench_host* others = current->before_;
    return std::strcmp(id, QUENCH_SERVICE_BLOCK) == 0 ? &current->table_
                                                      : others->service(others, id);
  }
  static quench_status place(const quench_host*, quench_replay_place* out, quench_error*) noexcept {
    *out = {sizeof *out, 0, 0, 1, current->batches_.size(), &current->info_};
    return QUENCH_OK;
  }
  static Weights with(const quench_overlay* overlays, uint32_t count) {
    Weights weights = current->weights_;
    for (uint32_t i = 0; i < count; ++i) {
      weights.at(overlays[i].parameter).values = kit::to_doubles(overlays[i].value, "overlay");
    }
    return weights;
  }
  static void show(const Matrix& made, const quench_tensor** tensors, uint32_t* count) {
    current->shown_.emplace_back(std::vector<int64_t>{made.rows, made.columns}).values() =
        made.values;
    current->view_ = current->shown_.back().view();
    *tensors = &current->view_;
    *count = 1;
  }
  static quench_status replay(const quench_host*, const quench_replay_args* args,
                              const quench_tensor** tensors, uint32_t* count,
                              quench_error* error) noexcept {
    return kit::guard(error, [&] {
      kit::expects(args->to_stage == 1, "replay: wanted stage 1");
      const Weights own = with(args->overlays, args->overlay_count);
      show(output(current->batches_.at(args->batch), own.at("linear0"), own.at("linear1")), tensors,
           count);
    });
  }
  static quench_status float_output(const quench_host*, uint64_t batch,
                                    const quench_tensor** tensors, uint32_t* count,
                                    quench_error* error) noexcept {
    return kit::guard(error, [&] {
      const Weights& own = current->weights_;
      show(output(current->float_batches_.at(batch), own.at("linear0"), own.at("linear1")), tensors,
           count);
    });
  }
  static quench_status weight(const quench_host*, const char* parameter,
                              const quench_tensor* destination, quench_error* error) noexcept {
    return kit::guard(error, [&] {
      kit::from_doubles(current->weights_.at(parameter).values, *destination, parameter);
    });
  }
  // y = t * g with t = tanh(x W0'), g = x W1': dW0 = (dy * g * (1 - t²))' x, dW1 = (dy * t)' x.
  static quench_status gradient(const quench_host*, const quench_replay_gradient_args* args,
                                double* loss, quench_error* error) noexcept {
    return kit::guard(error, [&] {
      current->asked_.push_back(args->batch);
      const Matrix& x = current->batches_.at(args->batch);
      const Weights own = with(args->overlays, args->overlay_count);
      const Matrix inner = product(x, transposed(own.at("linear0")));
      const Matrix gate = product(x, transposed(own.at("linear1")));
      const std::vector<double> target = kit::to_doubles(*args->target, "target");
      Matrix by_inner = inner;
      Matrix by_gate = inner;
      *loss = 0;
      for (size_t i = 0; i < target.size(); ++i) {
        const double t = std::tanh(inner.values[i]);
        const double off = t * gate.values[i] - target[i];
        *loss += off * off;
        by_inner.values[i] = 2 * off * gate.values[i] * (1 - t * t) * args->weight;
        by_gate.values[i] = 2 * off * t * args->weight;
      }
      for (uint32_t w = 0; w < args->weight_count; ++w) {
        const bool first = std::string(args->names[w]) == "linear0";
        const Matrix slope = product(transposed(first ? by_inner : by_gate), x);
        std::vector<double> sum = kit::to_doubles(args->gradients[w], "gradient");
        for (size_t i = 0; i < sum.size(); ++i) {
          sum[i] += slope.values[i];
        }
        kit::from_doubles(sum, args->gradients[w], "gradient");
      }
    });
  }

  std::vector<Matrix> batches_;
  std::vector<Matrix> float_batches_;
  Weights weights_;
  const char* names_[2] = {"linear0", "linear1"};
  const quench_host* before_ = kit::current_host;
  quench_host host_{};
  quench_block_service table_{};
  quench_linear_info linears_[2] = {};
  quench_group_info group_{};
  quench_block_info info_{};
  std::deque<kit::OwnedTensor<double>> shown_;
  quench_tensor view_{};
  std::vector<uint64_t> asked_;
};

}  // namespace quench::test
