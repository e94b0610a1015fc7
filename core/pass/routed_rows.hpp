// Maps the rows of a carried tensor to experts, from the tensor of destinations of one
// micro-batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"
#include "quench/abi/tensor.h"

namespace quench {

class RoutedRows {
 public:
  // `destinations`: int32 [entries, 1], contiguous, on the model's device. Throws Error(INTERNAL)
  // for anything else.
  RoutedRows(ModelHandle& model, const quench_tensor& destinations);

  // The rows, among `rows` of a tensor, that belong to `expert`, ascending. With several
  // destinations per row, entry i belongs to row i / (entries / rows). Throws Error(INTERNAL) if
  // entries is not a multiple of rows. A destination outside the experts means none.
  std::vector<int64_t> of(int32_t expert, int64_t rows) const;

 private:
  int64_t entries_;
  std::map<int32_t, std::vector<int64_t>> places_;  // entries of each expert, ascending
};

// The routes of one micro-batch at one stage; reads each at the first request.
class StageRoutes {
 public:
  // The caller keeps `carried`, the stage's carried tensors, alive.
  StageRoutes(ModelHandle& model, std::span<const quench_tensor> carried)
      : model_(model), carried_(carried) {}
  // The routes in carried tensor `index`; Error(INTERNAL) if there is none.
  const RoutedRows& at(int32_t index);

 private:
  ModelHandle& model_;
  std::span<const quench_tensor> carried_;
  std::map<int32_t, RoutedRows> read_;
};

// Makes a group without observations quantize with an identity Hessian (Gram matrix). Returns false
// if the quantizer accepts no Gram matrix from outside.
bool assume_white_inputs(QuantizerHandle::Group& group, int64_t in_features);

}  // namespace quench
