#include "metrics/curvature/graph_bytes.hpp"

#include <algorithm>
#include <cmath>

#include "quench/kit/tensor.hpp"

namespace quench::curvature {

namespace {

constexpr uint64_t kTokensAtOnce = 2048;
constexpr double kLinearCopies = 4.3;
constexpr double kScoreCopies = 2.2;
constexpr double kLogitCopies = 4.0;
constexpr double kTemporaryBlocks = 0.4;
constexpr double kHeadWidth = 64.0;

template <typename Function>
void checked(Function&& function) {
  quench_error error{sizeof error, 0, {}};
  kit::check(function(&error), error);
}

}  // namespace

GraphShapes graph_shapes(const quench_model_table& table, const quench_model* model) {
  GraphShapes out;
  quench_model_info info{};
  info.struct_size = sizeof info;
  checked([&](quench_error* error) { return table.info(model, &info, error); });
  out.element = info.dtype.bits / 8u;
  out.blocks = info.blocks;
  out.width = static_cast<uint64_t>(info.width);
  out.vocabulary = static_cast<uint64_t>(info.vocabulary);
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  checked([&](quench_error* error) { return table.parameters(model, &parameters, &count, error); });
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t elements = 1;
    for (int32_t d = 0; d < parameters[i].dimensions; ++d) {
      elements *= static_cast<uint64_t>(parameters[i].shape[d]);
    }
    out.parameters += elements;
  }
  for (uint32_t b = 0; b < info.blocks; ++b) {
    const quench_block_info* block = nullptr;
    checked([&](quench_error* error) { return table.block(model, b, &block, error); });
    uint64_t values = 0;
    for (uint32_t g = 0; g < block->group_count; ++g) {
      for (uint32_t l = 0; l < block->groups[g].linear_count; ++l) {
        const quench_linear_info& linear = block->groups[g].linears[l];
        values += static_cast<uint64_t>(linear.in_features + linear.out_features);
      }
    }
    out.linear_values = std::max(out.linear_values, values);
  }
  return out;
}

uint64_t graph_bytes(const GraphShapes& shapes, uint64_t rows, uint64_t length) {
  const auto tokens = static_cast<double>(rows) * static_cast<double>(length);
  const double heads = std::max(1.0, static_cast<double>(shapes.width) / kHeadWidth);
  const double block = kLinearCopies * static_cast<double>(shapes.linear_values) +
                       kScoreCopies * heads * static_cast<double>(length);
  const double token = (static_cast<double>(shapes.blocks) + kTemporaryBlocks) * block +
                       kLogitCopies * static_cast<double>(shapes.vocabulary);
  return static_cast<uint64_t>(tokens * token * static_cast<double>(shapes.element));
}

uint64_t rows_together(const GraphShapes& shapes, uint64_t length) {
  uint64_t rows = std::max<uint64_t>(1, kTokensAtOnce / std::max<uint64_t>(1, length));
  while (rows > 1 && graph_bytes(shapes, rows, length) > kGraphBytes) {
    --rows;
  }
  return rows;
}

uint64_t vector_bytes(const GraphShapes& shapes) {
  return shapes.parameters * std::max<uint64_t>(shapes.element, sizeof(float));
}

namespace {

uint64_t length_or_usual(uint64_t length) {
  return length > 0 ? length : kTokensAtOnce;
}

}  // namespace

uint64_t held_graphs(const GraphShapes& shapes, uint64_t rows, uint64_t length) {
  const uint64_t ids = length_or_usual(length);
  const uint64_t all = graph_bytes(shapes, rows, ids);
  const bool keeps = rows > 0 && rows * ids <= kKeptTokens && all <= kGraphBytes;
  return keeps ? all : passing_graph(shapes, rows, length);
}

uint64_t passing_graph(const GraphShapes& shapes, uint64_t rows, uint64_t length) {
  const uint64_t ids = length_or_usual(length);
  const uint64_t together = rows_together(shapes, ids);
  return graph_bytes(shapes, rows == 0 ? together : std::min(rows, together), ids);
}

}  // namespace quench::curvature
