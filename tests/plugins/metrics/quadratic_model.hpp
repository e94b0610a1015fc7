// A model whose loss is known by heart: L(x) = gᵀx + ½ xᵀAx nats per token, whatever the tokens.
#pragma once

#include <array>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::test {

// Three parameters: `blocks.0.first` [2] and `last` [1], or, where `apart` is set, `blocks.0.a`
// [1], `last` [1] and `blocks.0.b` [1]. Extensions grad and hvp, float64.
class QuadraticModel {
 public:
  using Vector = std::array<double, 3>;
  QuadraticModel(std::array<Vector, 3> a, Vector g, Vector x);
  QuadraticModel(const QuadraticModel&) = delete;
  QuadraticModel& operator=(const QuadraticModel&) = delete;

  // Valid as long as this object.
  const quench_subject& subject() const { return subject_; }

  double loss() const;
  Vector gradient() const;
  Vector times(const double* v) const;

  std::array<Vector, 3> a;
  Vector g;
  Vector x;
  bool apart = false;
  int forwards = 0;
  int gradients = 0;
  int products = 0;
  int open = 0;

 private:
  quench_model_table table_{};
  quench_subject subject_{};
};

}  // namespace quench::test
