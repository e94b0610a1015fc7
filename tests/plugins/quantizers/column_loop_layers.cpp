#include "tests/plugins/quantizers/column_loop_layers.hpp"

#include "tests/plugins/quantizers/matrix.hpp"

namespace quench::test {

namespace reference = quantizers::reference;
using quantizers::ColumnOrder;

namespace {

struct Setting {
  const char* name;
  int64_t rows;
  int64_t columns;
  quantizers::SolverOptions options;  // grid, group_size, static_groups, stale, block, float64, ...
  ColumnOrder order = ColumnOrder::kGiven;
  bool dead = false;
  bool corrected = false;
};

reference::Matrix plain(const Matrix& m) {
  return {m.rows, m.columns, m.values};
}

// 2/N A'B
reference::Matrix mean_product(const Matrix& a, const Matrix& b) {
  Matrix h = product(transposed(a), b);
  for (double& value : h.values) {
    value *= 2.0 / static_cast<double>(a.rows);
  }
  return plain(h);
}

// Blocks take 32 rows; panels, chunks and groups are cut off by the last row and column.
const Setting kSettings[] = {
    {"one weight", 1, 1, {{4, true}, -1, false, false, 128, true}},
    {"whole rows", 37, 75, {{3, false}, -1, false, false, 128, true}},
    {"whole rows over two panels", 33, 300, {{4, true}, -1, false, false, 128, true}},
    {"narrow panels", 40, 90, {{2, false}, 16, false, false, 24, true}},
    {"groups that do not divide", 33, 150, {{3, false}, 32, false, false, 128, true}},
    {"groups across panels", 35, 150, {{3, false}, 96, false, false, 64, true}},
    {"stale groups across panels", 35, 150, {{3, false}, 48, false, true, 64, true}},
    {"act-order", 45, 133, {{3, false}, 32, false, false, 128, true}, ColumnOrder::kActivation},
    {"act-order with static groups",
     45,
     133,
     {{3, true}, 32, true, false, 128, true},
     ColumnOrder::kActivation},
    {"group-aware order",
     31,
     131,
     {{4, false}, 32, false, false, 128, true, true},
     ColumnOrder::kGroupAware},
    {"dead columns", 34, 97, {{3, false}, 32, false, false, 32, true}, ColumnOrder::kGiven, true},
    {"dead columns, act-order, whole rows",
     34,
     97,
     {{3, false}, -1, false, false, 32, true},
     ColumnOrder::kActivation,
     true},
    {"dead columns, static groups",
     34,
     97,
     {{3, false}, 16, true, false, 32, true},
     ColumnOrder::kActivation,
     true},
    {"clipped grids", 33, 70, {{3, false, 2.4}, 32, false, false, 48, true}},
    {"clipped grids of rows", 33, 70, {{3, true, 2.4}, -1, false, false, 48, true}},
    {"clipped grids across panels", 9, 100, {{2, false, 2}, 64, false, false, 32, true}},
    {"GPTAQ", 36, 140, {{3, false}, 32, false, false, 64, true}, ColumnOrder::kGiven, false, true},
    {"GPTAQ with act-order",
     36,
     140,
     {{3, false}, 32, true, false, 128, true},
     ColumnOrder::kActivation,
     true,
     true},
};

ColumnLoopLayer layer_of(const Setting& setting, uint64_t seed) {
  const Matrix weight = random_matrix(setting.rows, setting.columns, seed);
  Matrix inputs = random_matrix(setting.columns + 60, setting.columns, seed + 1, true);
  Matrix moved = random_matrix(setting.columns + 60, setting.columns, seed + 2);
  for (int64_t r = 0; r < inputs.rows; ++r) {
    for (int64_t c = 0; c < inputs.columns; ++c) {
      if (setting.dead && c % 7 == 3) {
        inputs(r, c) = 0;
      }
      moved(r, c) *= 0.1;
    }
  }
  const reference::Matrix h = mean_product(inputs, inputs);
  const reference::Matrix cross = mean_product(moved, inputs);
  auto factored = reference::factor(h, setting.options, setting.order, 0.01,
                                    setting.corrected ? &cross : nullptr, 0.25);
  return {setting.name, plain(weight), std::move(factored), setting.options, setting.corrected};
}

}  // namespace

std::vector<ColumnLoopLayer> column_loop_layers() {
  std::vector<ColumnLoopLayer> out;
  for (const Setting& setting : kSettings) {
    out.push_back(layer_of(setting, 100 + 3 * out.size()));
  }
  return out;
}

}  // namespace quench::test
