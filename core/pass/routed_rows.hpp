// Which rows of a carried tensor go to which expert: what the tensor of destinations of one
// micro-batch says.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/plugin/model_handle.hpp"
#include "core/plugin/quantizer_handle.hpp"
#include "quench/abi/tensor.h"

namespace quench {

class RoutedRows {
 public:
  // `destinations`: int32 [entries, 1], contiguous, on the model's device. Throws Error(INTERNAL)
  // for anything else.
  RoutedRows(ModelHandle& model, const quench_tensor& destinations);

  // The rows, among `rows` of a tensor, that belong to `expert`, ascending. Where there are several
  // destinations a row, entry i is one of row i / (entries / rows). Throws Error(INTERNAL) when
  // entries is no multiple of rows. A destination that is nobody's expert means none.
  std::vector<int64_t> of(int32_t expert, int64_t rows) const;

 private:
  int64_t entries_;
  std::map<int32_t, std::vector<int64_t>> places_;  // entries of each expert, ascending
};

// The routes of one micro-batch at one stage, each read when it is first asked for.
class StageRoutes {
 public:
  // Borrows `carried`, what the stage carries on.
  StageRoutes(ModelHandle& model, std::span<const quench_tensor> carried)
      : model_(model), carried_(carried) {}
  // By the carried tensor `index`; Error(INTERNAL) where there is none.
  const RoutedRows& at(int32_t index);

 private:
  ModelHandle& model_;
  std::span<const quench_tensor> carried_;
  std::map<int32_t, RoutedRows> read_;
};

// Makes a group that observed nothing quantize as if its inputs were white: the Gram matrix is the
// identity. False where the quantizer takes no Gram matrix from elsewhere.
bool assume_white_inputs(QuantizerHandle::Group& group, int64_t in_features);

}  // namespace quench
