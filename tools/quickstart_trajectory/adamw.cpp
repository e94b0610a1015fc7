#include "tools/quickstart_trajectory/adamw.hpp"

#include <algorithm>
#include <cmath>

namespace quickstart {

namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.95;
constexpr double kEpsilon = 1e-8;
constexpr double kWeightDecay = 0.1;  // of matrices; norms and biases are not decayed
constexpr double kGradientNorm = 1.0;

}  // namespace

AdamW::AdamW(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    const auto size = static_cast<size_t>(parameter.value.numel());
    slots_.push_back({parameter.value, std::vector<float>(size), std::vector<float>(size)});
  }
}

void AdamW::step(double learning_rate) {
  ++steps_;
  double squares = 0;
  for (const Slot& slot : slots_) {
    const at::Tensor gradient = slot.value.grad().contiguous();
    const float* g = gradient.const_data_ptr<float>();
    for (size_t i = 0; i < slot.mean.size(); ++i) {
      squares += static_cast<double>(g[i]) * g[i];
    }
  }
  const auto clip = static_cast<float>(std::min(1.0, kGradientNorm / (std::sqrt(squares) + 1e-6)));
  const double unbias1 = 1.0 - std::pow(kBeta1, steps_);
  const double unbias2 = 1.0 - std::pow(kBeta2, steps_);
  for (Slot& slot : slots_) {
    const double decay = slot.value.dim() > 1 ? learning_rate * kWeightDecay : 0.0;
    const auto keep = static_cast<float>(1.0 - decay);
    const auto rate = static_cast<float>(learning_rate / unbias1);
    const at::Tensor gradient = slot.value.grad().contiguous();
    const float* g = gradient.const_data_ptr<float>();
    auto* w = static_cast<float*>(slot.value.data_ptr());
    for (size_t i = 0; i < slot.mean.size(); ++i) {
      const float clipped = clip * g[i];
      slot.mean[i] += static_cast<float>(1.0 - kBeta1) * (clipped - slot.mean[i]);
      slot.variance[i] += static_cast<float>(1.0 - kBeta2) * (clipped * clipped - slot.variance[i]);
      const float scale = std::sqrt(slot.variance[i] / static_cast<float>(unbias2));
      w[i] = keep * w[i] - rate * slot.mean[i] / (scale + static_cast<float>(kEpsilon));
    }
    slot.value.mutable_grad() = at::Tensor();
  }
}

}  // namespace quickstart
