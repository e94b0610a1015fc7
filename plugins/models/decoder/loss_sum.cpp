#include "models/decoder/loss_sum.hpp"

#include <cmath>

#include "quench/kit/error.hpp"

namespace quench::decoder {

double sum_of(const at::Tensor& losses) {
  const at::Tensor held = losses.detach().to(at::kDouble).cpu().contiguous();
  const auto* values = held.const_data_ptr<double>();
  double sum = 0;
  for (int64_t i = 0; i < held.numel(); ++i) {
    sum += values[i];
  }
  return sum;
}

LossSum& LossSum::operator+=(const LossSum& other) {
  ready_ += other.ready_;
  coming_.insert(coming_.end(), other.coming_.begin(), other.coming_.end());
  return *this;
}

double LossSum::value() const {
  double loss = ready_;
  for (const at::Tensor& losses : coming_) {
    loss += sum_of(losses);
  }
  if (!std::isfinite(loss)) {
    kit::fail(QUENCH_NUMERICAL, "the loss of the batch is %f", loss);
  }
  return loss;
}

}  // namespace quench::decoder
