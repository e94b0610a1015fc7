// Groups that keep the Gram matrix of their rows, and the functions of a quantizer that show it.
#pragma once

#include <memory>
#include <utility>

#include "quantizers/gram/gram.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// What else a quantizer wants to know of the rows that count.
class RowObserver {
 public:
  RowObserver() = default;
  RowObserver(const RowObserver&) = delete;
  RowObserver& operator=(const RowObserver&) = delete;
  virtual ~RowObserver() = default;
  // Whether it looks at any more rows; on a GPU showing them waits for it.
  virtual bool wants_more() const { return true; }
  // `rows` [n, in] are finite and borrowed for the call.
  virtual void observe(const at::Tensor& rows) = 0;
};

// A group that accumulates the Gram matrix of its rows.
class GramGroup : public kit::QuantizerGroup {
 public:
  // `float64`: compute products in float64 for any number of columns (gram.hpp). `device`: where
  // the group's rows are.
  GramGroup(int64_t in_features, bool float64, at::Device device = at::kCPU)
      : gram_(in_features, float64), device_(device) {}
  void observe(const quench_observe_args& args) override;
  Gram& gram() { return gram_; }
  // Shows `observer` the rows from now on.
  void add_observer(std::unique_ptr<RowObserver> observer) { observer_ = std::move(observer); }
  RowObserver* observer() { return observer_.get(); }
  at::Device device() const { return device_; }

 private:
  Gram gram_;
  at::Device device_;
  std::unique_ptr<RowObserver> observer_;  // null: nobody else asks
};

// Bytes of such a group's Gram matrix from the first row on.
uint64_t gram_bytes(const kit::GroupShapes& shapes, bool float64);

// Adds `gram_get`, `gram_set` and `output_error`. All groups of the quantizer must be GramGroups.
void add_gram_functions(quench_quantizer_table& table);

}  // namespace quench::quantizers
