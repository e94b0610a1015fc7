#include "quantizers/gptq/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "shared/number_formats/scale_by_force.hpp"

namespace quench::quantizers::reference {

namespace {

Matrix zeros(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<size_t>(rows * columns))};
}

// The lower triangular L with a = L L'.
Matrix cholesky(const Matrix& a) {
  Matrix l = zeros(a.rows, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) {
        sum -= l(i, k) * l(j, k);
      }
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return l;
}

// a^-1 = L'^-1 L^-1, from a's Cholesky factor.
Matrix inverse(const Matrix& a) {
  const int64_t n = a.rows;
  const Matrix l = cholesky(a);
  Matrix x = zeros(n, n);  // L^-1
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t i = c; i < n; ++i) {
      double sum = i == c ? 1.0 : 0.0;
      for (int64_t k = c; k < i; ++k) {
        sum -= l(i, k) * x(k, c);
      }
      x(i, c) = sum / l(i, i);
    }
  }
  Matrix result = zeros(n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = std::max(i, j); k < n; ++k) {
        result(i, j) += x(k, i) * x(k, j);
      }
    }
  }
  return result;
}

// The grid of columns [from, to) of one row.
Grid grid_of_row(const Matrix& weight, int64_t row, int64_t from, int64_t to, GridKind kind) {
  double low = 0;
  double high = 0;
  for (int64_t c = from; c < to; ++c) {
    low = std::min(low, weight(row, c));
    high = std::max(high, weight(row, c));
  }
  Grid best = grid_of(low, high, kind);
  double least = -1;
  for (int step = 0; step < 80 && kind.mse > 0; ++step) {
    const Range range = range_of(low, high, kind);
    const double part = 1 - step / 100.0;
    const Grid grid = grid_of(Range{part * range.min, part * range.max}, kind);
    double error = 0;
    for (int64_t c = from; c < to; ++c) {
      const double code = code_of(weight(row, c), grid.scale, grid.zero, kind.max_code());
      error += std::pow(std::fabs(grid.scale * (code - grid.zero) - weight(row, c)), kind.mse);
    }
    if (least < 0 || error < least) {
      least = error;
      best = grid;
    }
  }
  return best;
}

// The same, or the scale of a format.
Grid grid_of_row(const Matrix& weight, int64_t row, int64_t from, int64_t to,
                 const SolverOptions& options) {
  if (options.format == nullptr) {
    return grid_of_row(weight, row, from, to, options.kind);
  }
  if (options.kind.mse > 0) {
    const double* values = weight.values.data() + row * weight.columns;
    return {number_formats::by_force::least_squares_scale(
                *options.format, {values + from, values + to}, options.tensor_scale),
            0};
  }
  double largest = 0;
  double sum = 0;
  for (int64_t c = from; c < to; ++c) {
    largest = std::max(largest, std::fabs(weight(row, c)));
    sum += std::fabs(weight(row, c));
  }
  const bool mean = options.format->statistic() == number_formats::Statistic::kMean;
  const double statistic = mean ? sum / static_cast<double>(to - from) : largest;
  return {options.format->scale_of(statistic, options.tensor_scale), 0};
}

struct Rounded {
  double code;
  double value;
};

// The code that is nearest to `x`. Of a format it is found by looking at all of them: of two that
// are as near the even one, of a float's two zeros the one with the sign of `x`.
Rounded round(double x, const Grid& grid, const SolverOptions& options) {
  if (options.format == nullptr) {
    const double code = code_of(x, grid.scale, grid.zero, options.kind.max_code());
    return {code, grid.scale * (code - grid.zero)};
  }
  const double ratio = grid.scale > 0 ? x / grid.scale : 0;
  Rounded best{-1, 0};
  double least = std::numeric_limits<double>::infinity();
  for (int64_t code = 0; code < options.format->entries(); ++code) {
    const double element = options.format->element_of(static_cast<uint8_t>(code));
    const bool is_float = options.format->type == number_formats::ElementType::kFloat;
    if (!std::isfinite(element) || (is_float && std::signbit(element) != std::signbit(ratio))) {
      continue;
    }
    const double distance = std::fabs(element - ratio);
    const bool even = std::fmod(is_float ? static_cast<double>(code) : element, 2) == 0;
    if (distance < least || (distance == least && even)) {
      least = distance;
      best = {static_cast<double>(code), grid.scale * element};
    }
  }
  return best;
}

// The grids of all groups of the current `weight`.
void grids_of_all(const Matrix& weight, int64_t size, const SolverOptions& options,
                  Solution& solution) {
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t g = 0; g < solution.scales.columns; ++g) {
      const Grid grid =
          grid_of_row(weight, r, g * size, std::min((g + 1) * size, weight.columns), options);
      solution.scales(r, g) = grid.scale;
      solution.zeros(r, g) = grid.zero;
    }
  }
}

// Reorders the columns of `m`, and its rows too if asked, by `perm`.
Matrix reorder(const Matrix& m, const std::vector<int32_t>& perm, bool rows_too) {
  Matrix out = zeros(m.rows, m.columns);
  for (int64_t r = 0; r < m.rows; ++r) {
    for (int64_t c = 0; c < m.columns; ++c) {
      out(r, c) = m(rows_too ? perm[static_cast<size_t>(r)] : r, perm[static_cast<size_t>(c)]);
    }
  }
  return out;
}

// The column order by direct comparison: finds for each place the column that belongs there.
void sort_columns(const Matrix& h, ColumnOrder order, int64_t group_size,
                  std::vector<int32_t>& perm) {
  const auto larger = [&](int32_t a, int32_t b) { return h(a, a) > h(b, b); };
  if (order == ColumnOrder::kActivation) {
    std::stable_sort(perm.begin(), perm.end(), larger);
  } else if (order == ColumnOrder::kGroupAware) {
    const int64_t full = h.rows / group_size;
    const auto largest = [&](int64_t g) {
      double value = 0;
      for (int64_t c = g * group_size; c < (g + 1) * group_size; ++c) {
        value = std::max(value, h(c, c));
      }
      return value;
    };
    std::stable_sort(perm.begin(), perm.begin() + full * group_size, [&](int32_t a, int32_t b) {
      const int64_t of_a = a / group_size;
      const int64_t of_b = b / group_size;
      if (of_a == of_b) {
        return larger(a, b);
      }
      return largest(of_a) != largest(of_b) ? largest(of_a) > largest(of_b) : of_a < of_b;
    });
  }
}

// alpha * triu(moved * u', 1) * u
Matrix correction(const Matrix& moved, const Matrix& u, double alpha) {
  const int64_t n = u.rows;
  Matrix upper = zeros(n, n);
  Matrix p = zeros(n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      for (int64_t k = 0; k < n; ++k) {
        upper(i, j) += moved(i, k) * u(j, k);
      }
    }
    for (int64_t l = 0; l < n; ++l) {
      for (int64_t j = 0; j < n; ++j) {
        p(i, l) += alpha * upper(i, j) * u(j, l);
      }
    }
  }
  return p;
}

}  // namespace

Matrix upper_factor_of_inverse(const Matrix& h) {
  const Matrix l = cholesky(inverse(h));
  Matrix u = zeros(h.rows, h.rows);
  for (int64_t i = 0; i < h.rows; ++i) {
    for (int64_t j = i; j < h.rows; ++j) {
      u(i, j) = l(j, i);
    }
  }
  return u;
}

Factored factor(const Matrix& h, const SolverOptions& options, ColumnOrder order, double damp,
                const Matrix* moved, double alpha) {
  const int64_t n = h.columns;
  Factored out{std::vector<int32_t>(static_cast<size_t>(n)),
               std::vector<uint8_t>(static_cast<size_t>(n)), zeros(n, n), zeros(n, n)};
  Matrix hessian = h;
  double trace = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (hessian(i, i) == 0) {
      hessian(i, i) = 1;
      out.dead[static_cast<size_t>(i)] = 1;
    }
    trace += hessian(i, i);
  }
  std::iota(out.perm.begin(), out.perm.end(), 0);
  sort_columns(hessian, order, groups_of(n, options.group_size).size, out.perm);
  hessian = reorder(hessian, out.perm, true);
  for (int64_t i = 0; i < n; ++i) {
    hessian(i, i) += damp * trace / static_cast<double>(n);
  }
  out.u = upper_factor_of_inverse(hessian);
  if (moved != nullptr) {
    out.p = correction(reorder(*moved, out.perm, true), out.u, alpha);
  }
  return out;
}

Solution quantize_columns(const Matrix& weight, const Factored& factored,
                          const SolverOptions& options) {
  const int64_t n = weight.columns;
  const Groups groups = groups_of(n, options.group_size);
  const bool grouped = options.group_size != -1;
  const bool fixed = !grouped || options.static_groups;
  const Matrix& u = factored.u;
  const Matrix& p = factored.p;
  Solution out{zeros(weight.rows, n),
               zeros(weight.rows, groups.count),
               zeros(weight.rows, groups.count),
               zeros(weight.rows, n),
               std::vector<int32_t>(static_cast<size_t>(n)),
               factored.perm,
               0};
  Matrix w = weight;
  if (!grouped) {
    grids_of_all(w, groups.size, options, out);
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t r = 0; r < w.rows && factored.dead[static_cast<size_t>(i)] != 0; ++r) {
      w(r, i) = 0;
    }
  }
  if (grouped && options.static_groups) {
    grids_of_all(w, groups.size, options, out);
  }
  w = reorder(w, out.perm, false);
  Matrix at_block_start = w;
  for (int64_t c = 0; c < n; ++c) {
    if (c % options.block == 0) {
      at_block_start = w;
    }
    const int64_t column = out.perm[static_cast<size_t>(c)];
    const int64_t g = (options.groups_stay() ? column : c) / groups.size;
    out.g_idx[static_cast<size_t>(column)] = static_cast<int32_t>(g);
    for (int64_t r = 0; r < w.rows; ++r) {
      if (!fixed && c % groups.size == 0) {
        const Grid grid = grid_of_row(options.stale ? at_block_start : w, r, c,
                                      std::min(c + groups.size, n), options);
        out.scales(r, g) = grid.scale;
        out.zeros(r, g) = grid.zero;
      }
      const double x = w(r, c);
      const auto [code, value] = round(x, {out.scales(r, g), out.zeros(r, g)}, options);
      out.codes(r, column) = code;
      out.dequantized(r, column) = value;
      const double error = (x - value) / u(c, c);
      out.loss += error * error / 2;
      for (int64_t k = c; k < n; ++k) {
        w(r, k) -= error * u(c, k) - x * p(c, k);
      }
    }
  }
  return out;
}

Solution gptq(const Matrix& weight, const Matrix& h, const SolverOptions& options,
              ColumnOrder order, double damp, const Matrix* moved, double alpha) {
  return quantize_columns(weight, factor(h, options, order, damp, moved, alpha), options);
}

}  // namespace quench::quantizers::reference
