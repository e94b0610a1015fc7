// An optimizer that takes a closure, given one that is a function of
// the test's.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/abi/kind/optimizer.h"

namespace quench::test {

struct NamedTensor {
  const char* name;
  int32_t role;
  std::vector<int64_t> shape;
};

// The loss at `weights`; writes its gradient.
using LossFunction =
    std::function<double(const std::vector<float>& weights, std::vector<double>& gradient)>;

class ClosureRun {
 public:
  ClosureRun(const std::string& id, const nlohmann::json& parameters,
             std::vector<NamedTensor> tensors, LossFunction loss);
  ~ClosureRun();
  ClosureRun(const ClosureRun&) = delete;
  ClosureRun& operator=(const ClosureRun&) = delete;

  // The gradient from which a step at `weights` is made.
  std::vector<float> gradient(uint64_t step, const std::vector<float>& weights);
  // Where the last gradient() evaluated the loss, in this order.
  const std::vector<std::vector<float>>& points() const { return points_; }

 private:
  static quench_status evaluate(void* context, const quench_tensor* weights,
                                const quench_tensor* gradient, double* loss,
                                quench_error* error) noexcept;

  std::vector<NamedTensor> tensors_;
  LossFunction loss_;
  const quench_optimizer_table* table_;
  quench_optimizer* optimizer_ = nullptr;
  std::vector<std::vector<float>> points_;
};

}  // namespace quench::test
