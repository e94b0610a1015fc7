#include "tests/plugins/quantizers/solved_layer.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

namespace quench::test {

namespace {

at::Tensor tensor_of(const quantizers::reference::Matrix& matrix) {
  return at::from_blob(const_cast<double*>(matrix.values.data()), {matrix.rows, matrix.columns},
                       at::kDouble)
      .clone();
}

quantizers::Factor factor_of(const ColumnLoopLayer& layer) {
  quantizers::Factor out;
  out.perm = layer.factored.perm;
  out.dead = layer.factored.dead;
  out.upper = tensor_of(layer.factored.u);
  if (layer.corrected) {
    out.correction = tensor_of(layer.factored.p);
  }
  for (int64_t k = 0; k < layer.factored.u.rows; ++k) {
    out.pivots.push_back(layer.factored.u(k, k));
  }
  return out;
}

}  // namespace

SolvedLayer solved_by_kernels(const ColumnLoopLayer& layer, at::ScalarType type,
                              at::Device device) {
  const at::Tensor weight = tensor_of(layer.weight).to(type).to(device);
  const quantizers::Groups groups = quantizers::groups_of(weight.size(1), layer.options.group_size);
  const quantizers::CodedStorage storage(weight.size(0), weight.size(1), groups);
  const quantizers::Coded& coded = storage.view();
  const double loss = quantizers::solve_by_kernels(weight, factor_of(layer), layer.options, coded);
  return {{coded.codes.begin(), coded.codes.end()},
          {coded.scales.begin(), coded.scales.end()},
          {coded.zeros.begin(), coded.zeros.end()},
          {coded.g_idx.begin(), coded.g_idx.end()},
          loss};
}

quantizers::SolvedThere solved_to_format(const ColumnLoopLayer& layer, at::ScalarType type,
                                         at::Device device) {
  const at::Tensor weight = tensor_of(layer.weight).to(type).to(device);
  return quantizers::solve_to_format_by_kernels(weight, factor_of(layer), layer.options);
}

at::Tensor dequantized_by_kernels(const ColumnLoopLayer& layer, at::ScalarType type,
                                  at::Device device) {
  const at::Tensor weight = tensor_of(layer.weight).to(type).to(device);
  const at::Tensor out = at::empty_like(weight);
  quantizers::solve_by_kernels_into(weight, factor_of(layer), layer.options, out, "layer");
  return out.cpu();
}

at::Tensor dequantized_from(const SolvedLayer& solved, const ColumnLoopLayer& layer,
                            at::ScalarType type) {
  const int64_t rows = layer.weight.rows;
  const int64_t columns = layer.weight.columns;
  const auto groups = static_cast<int64_t>(solved.scales.size()) / rows;
  at::Tensor out = at::empty({rows, columns}, at::kDouble);
  auto* to = out.data_ptr<double>();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t g = i / columns * groups + solved.g_idx[static_cast<size_t>(i % columns)];
    const auto at = static_cast<size_t>(g);
    to[i] = solved.scales[at] * (solved.codes[static_cast<size_t>(i)] - solved.zeros[at]);
  }
  return out.to(type);
}

}  // namespace quench::test
