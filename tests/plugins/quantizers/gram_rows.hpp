// Hands rows to a Gram matrix as the host does.
#pragma once

#include <vector>

#include "quantizers/gram/gram.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/quantizers/matrix.hpp"

namespace quench::test {

// Rows as float32; an empty index or weight list is handed over as NULL.
inline void observe(quantizers::Gram& gram, const Matrix& x, const std::vector<int64_t>& index = {},
                    const std::vector<double>& weights = {}) {
  kit::OwnedTensor<float> rows({x.rows, x.columns});
  for (size_t i = 0; i < x.values.size(); ++i) {
    rows.values()[i] = static_cast<float>(x.values[i]);
  }
  kit::OwnedTensor<int64_t> index_tensor({static_cast<int64_t>(index.size())});
  index_tensor.values() = index;
  kit::OwnedTensor<double> weight_tensor({static_cast<int64_t>(weights.size())});
  weight_tensor.values() = weights;
  const quench_tensor rows_view = rows.view();
  const quench_tensor index_view = index_tensor.view();
  const quench_tensor weight_view = weight_tensor.view();
  gram.observe({sizeof(quench_observe_args), 0, &rows_view, nullptr,
                index.empty() ? nullptr : &index_view, weights.empty() ? nullptr : &weight_view,
                nullptr});
}

inline std::vector<double> values(quantizers::Gram& gram) {
  return kit::to_doubles(kit::view_of(gram.matrix()), "gram");
}

}  // namespace quench::test
