// Groups that keep the Gram matrix of their rows, and the functions of a quantizer that show it.
#pragma once

#include "quantizers/gram/gram.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// A group that accumulates the Gram matrix of its rows.
class GramGroup : public kit::QuantizerGroup {
 public:
  // `float64`: compute products in float64 for any number of columns (gram.hpp). `device`: where
  // the group's rows are.
  GramGroup(int64_t in_features, bool float64, at::Device device = at::kCPU)
      : gram_(in_features, float64), device_(device) {}
  void observe(const quench_observe_args& args) override { gram_.observe(args); }
  Gram& gram() { return gram_; }
  at::Device device() const { return device_; }

 private:
  Gram gram_;
  at::Device device_;
};

// Bytes of such a group's Gram matrix from the first row on.
uint64_t gram_bytes(const kit::GroupShapes& shapes, bool float64);

// Adds `gram_get`, `gram_set` and `output_error`. All groups of the quantizer must be GramGroups.
void add_gram_functions(quench_quantizer_table& table);

}  // namespace quench::quantizers
