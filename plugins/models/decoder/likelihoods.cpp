#include "models/decoder/likelihoods.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log_softmax.h>

#include <cmath>
#include <vector>

#include "models/decoder/device/entries.hpp"
#include "models/decoder/differentiable.hpp"
#include "models/decoder/softmax_kernels.hpp"
#include "quench/kit/host.hpp"
#include "shared/cuda/run_kernel.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

constexpr uint64_t kRowsPerTask = 4;

// Calls body(row, i) with the values of row i, on the host's threads.
template <typename T, typename Body>
void for_rows(const at::Tensor& values, Body&& body) {
  auto* data = values.mutable_data_ptr<T>();
  const auto columns = static_cast<uint64_t>(values.size(1));
  kit::parallel_for(static_cast<uint64_t>(values.size(0)), kRowsPerTask,
                    [&](uint64_t begin, uint64_t end) {
                      for (uint64_t row = begin; row < end; ++row) {
                        body(data + row * columns, row);
                      }
                    });
}

template <typename T>
double likelihoods_of(const at::Tensor& logits, const at::Tensor& targets) {
  const auto columns = static_cast<size_t>(logits.size(1));
  const auto* chosen = targets.const_data_ptr<int64_t>();
  std::vector<double> losses(static_cast<size_t>(logits.size(0)));
  for_rows<T>(logits, [&](T* row, uint64_t i) {
    const T peak = kernel::largest(row, columns);
    const auto picked = static_cast<double>(row[chosen[i]]);
    const double sum = kernel::exponentiate(row, peak, columns);
    kernel::scale(row, static_cast<T>(1.0 / sum), columns);
    losses[i] = std::log(sum) + (static_cast<double>(peak) - picked);
  });
  double total = 0;
  for (const double loss : losses) {
    total += loss;
  }
  return total;
}

template <typename T>
void gradient_of(const at::Tensor& likelihoods, const at::Tensor& targets, double factor) {
  const auto columns = static_cast<size_t>(likelihoods.size(1));
  const auto* chosen = targets.const_data_ptr<int64_t>();
  for_rows<T>(likelihoods, [&](T* row, uint64_t i) {
    row[chosen[i]] -= T{1};
    kernel::scale(row, static_cast<T>(factor), columns);
  });
}

}  // namespace

LossSum make_likelihoods(const at::Tensor& logits, const at::Tensor& targets) {
  if (matrix::on_host(logits)) {
    return LossSum(logits.scalar_type() == at::kDouble ? likelihoods_of<double>(logits, targets)
                                                       : likelihoods_of<float>(logits, targets));
  }
  const at::Tensor logs = at::log_softmax(logits, 1);
  at::Tensor values = logits;
  at::exp_out(values, logs);
  return LossSum(logs.gather(1, targets).neg());
}

void make_gradient(const at::Tensor& likelihoods, const at::Tensor& targets, double factor) {
  if (matrix::on_host(likelihoods)) {
    return likelihoods.scalar_type() == at::kDouble
               ? gradient_of<double>(likelihoods, targets, factor)
               : gradient_of<float>(likelihoods, targets, factor);
  }
  at::Tensor values = likelihoods;
  values.scatter_add_(1, targets, values.new_full(targets.sizes(), -1.0)).mul_(factor);
}

bool make_by_kernel(const at::Tensor& logits, const at::Tensor& targets, double factor,
                    bool differentiate, LossSum& loss) {
  if (logits.scalar_type() != at::kFloat || !logits.is_contiguous() || !targets.is_contiguous() ||
      !cuda::runs_kernels(logits.device())) {
    return false;
  }
  const at::Tensor sums = at::empty({logits.size(0)}, logits.options().dtype(at::kDouble));
  const at::Tensor gaps = at::empty({logits.size(0)}, logits.options());
  const LossRows kernel{static_cast<float*>(logits.mutable_data_ptr()),
                        targets.const_data_ptr<int64_t>(),
                        static_cast<double*>(sums.mutable_data_ptr()),
                        static_cast<float*>(gaps.mutable_data_ptr()),
                        logits.size(0),
                        logits.size(1),
                        static_cast<float>(factor),
                        differentiate ? 1 : 0};
  cuda::run_kernel(kLossRows, kernel, logits.device());
  loss = LossSum(logarithm_of(sums).add(gaps));
  return true;
}

LossSum make_loss_gradient(const at::Tensor& logits, const at::Tensor& targets, double factor,
                           bool differentiate) {
  LossSum loss;
  if (!matrix::on_host(logits) && make_by_kernel(logits, targets, factor, differentiate, loss)) {
    return loss;
  }
  loss = make_likelihoods(logits, targets);
  if (differentiate) {
    make_gradient(logits, targets, factor);
  }
  return loss;
}

}  // namespace quench::decoder
