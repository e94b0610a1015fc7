// One linear whose rounding is tuned by sign gradient descent.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "quantizers/autoround/tuned_grid.hpp"
#include "quantizers/grid/coded.hpp"

namespace quench::quantizers {

// Everything is in host memory, and each row is worked on by itself: results do not depend on the
// number of threads.
class TunedLinear {
 public:
  // `weight` [out, in], float32 or float64, finite, C order. `name`: of the linear, in errors.
  TunedLinear(std::string name, std::string parameter, at::Tensor weight, Groups groups,
              GridKind kind);

  const std::string& name() const { return name_; }
  // The model's parameter that holds the weight.
  const std::string& parameter() const { return parameter_; }
  const at::Tensor& weight() const { return weight_; }
  GridKind kind() const { return kind_; }
  Groups groups() const { return groups_; }

  // The rounded weight, as round() has left it. [out, in], dtype of the weight
  const at::Tensor& rounded() const { return rounded_; }
  // Room for dloss/d(rounded weight); same shape and dtype.
  const at::Tensor& gradient() const { return gradient_; }

  // Rounds with the present offsets and factors, and sets the gradient to zero.
  void round();
  // One step of sign gradient descent; factors stay in [0, 1].
  void step(double offset_rate, double factor_rate);
  // Keeps the present codes as the best ones.
  void keep();
  // Makes `rounded` the best codes' weight, or that of rounding to nearest.
  void show_best();
  void show_nearest();
  // Rounds to nearest after all: the best codes are those.
  void keep_nearest();
  // Frees all but the weight and the best codes.
  void finish();

  const Coded& best() const { return best_.view(); }

  // Bytes of a linear while it is tuned, without its weight.
  static uint64_t bytes(uint64_t weights, uint64_t element);

 private:
  void code_into(const Coded& coded) const;
  void set_nearest();
  template <typename T>
  void find_extremes();
  template <typename T>
  void round_as();
  template <typename T>
  void step_as(double offset_rate, double factor_rate);
  template <typename T>
  void code_as(const Coded& coded) const;
  TunedGrid grid(size_t group) const;

  std::string name_;
  std::string parameter_;
  at::Tensor weight_;
  Groups groups_;
  GridKind kind_;
  at::Tensor offsets_;
  at::Tensor rounded_;
  at::Tensor gradient_;
  // [out, groups]
  std::vector<double> lows_, highs_, low_factors_, high_factors_;
  CodedStorage best_;
};

}  // namespace quench::quantizers
