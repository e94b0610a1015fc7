#include "quantizers/gptq/solver.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "quantizers/gptq/columns.hpp"
#include "quantizers/gptq/device/solve_by_kernels.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/product.hpp"
#include "shared/number_formats/scale_chooser.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
constexpr at::ScalarType kType = sizeof(T) == 8 ? at::kDouble : at::kFloat;

// The partial solution for one weight. Matrices are transposed; columns are in quantization order.
template <typename T>
class Solver {
 public:
  Solver(const at::Tensor& weight, const Factor& factor, const SolverOptions& options)
      : factor_(factor),
        options_(options),
        rows_(weight.size(0)),
        columns_(weight.size(1)),
        groups_(groups_of(columns_, options.group_size)),
        weights_(weight.t().to(kType<T>, false, true, at::MemoryFormat::Contiguous)),
        scales_(at::empty({groups_.count, rows_}, at::kDouble)),
        zeros_(at::zeros({groups_.count, rows_}, at::kDouble)),
        codes_(at::empty({columns_, rows_}, at::kByte)),
        group_(static_cast<size_t>(columns_)),
        loss_(static_cast<size_t>(rows_)) {}

  double run() {
    prepare();
    at::Tensor errors = at::empty({options_.block, rows_}, kType<T>);
    const bool corrected = factor_.correction.defined();
    at::Tensor negated = at::empty({corrected ? options_.block : 0, rows_}, kType<T>);
    for (int64_t begin = 0; begin < columns_;) {
      kit::check_cancelled();
      const int64_t end = panel_end(begin, columns_, options_.block, grid_source(), groups_.size);
      const Panel<T> panel = panel_of(begin, end, errors.data_ptr<T>(), negated.data_ptr<T>());
      kit::parallel_for(static_cast<uint64_t>(rows_), static_cast<uint64_t>(kPanelRows),
                        [&](uint64_t first, uint64_t last) {
                          quantize_panel(panel, static_cast<int64_t>(first),
                                         static_cast<int64_t>(last));
                        });
      if (end < columns_) {
        update_rest(factor_.upper, errors, begin, end);
        if (corrected) {
          update_rest(factor_.correction, negated, begin, end);
        }
      }
      begin = end;
    }
    return std::accumulate(loss_.begin(), loss_.end(), 0.0);
  }

  void write(const Coded& coded) const {
    const std::vector<int64_t> place = places();
    at::from_blob(coded.codes.data(), {rows_, columns_}, at::kByte)
        .copy_(codes_.index_select(0, at::tensor(place, at::kLong)).t());
    at::from_blob(coded.scales.data(), {rows_, groups_.count}, at::kDouble).copy_(scales_.t());
    at::from_blob(coded.zeros.data(), {rows_, groups_.count}, at::kDouble).copy_(zeros_.t());
    for (size_t k = 0; k < group_.size(); ++k) {
      coded.g_idx[static_cast<size_t>(factor_.perm[k])] = group_[k];
    }
  }

 private:
  bool whole_rows() const { return options_.group_size == -1; }
  GridSource grid_source() const {
    return whole_rows() || options_.static_groups ? GridSource::kGiven
           : options_.stale                       ? GridSource::kStale
                                                  : GridSource::kCurrent;
  }

  // Subtracts `errors` [block, rows] times the matching part of `factor` from the columns past the
  // panel.
  void update_rest(const at::Tensor& factor, const at::Tensor& errors, int64_t begin, int64_t end) {
    const at::Tensor part =
        factor.narrow(0, begin, end - begin).narrow(1, end, columns_ - end).to(kType<T>);
    matrix::add_product(weights_.narrow(0, end, columns_ - end), part.t(),
                        errors.narrow(0, 0, end - begin), -1);
  }

  // Whole-row grids include dead columns, all other grids do not, like the published tools.
  void prepare() {
    if (whole_rows()) {
      grids_before();
    }
    for (int64_t c = 0; c < columns_; ++c) {
      if (factor_.dead[static_cast<size_t>(c)] != 0) {
        weights_.select(0, c).zero_();
      }
    }
    if (!whole_rows() && options_.static_groups) {
      grids_before();
    }
    for (size_t k = 0; k < group_.size(); ++k) {
      const int64_t column = options_.groups_stay() ? factor_.perm[k] : static_cast<int64_t>(k);
      group_[k] = static_cast<int32_t>(column / groups_.size);
    }
    if (!std::is_sorted(factor_.perm.begin(), factor_.perm.end())) {
      const std::vector<int64_t> order(factor_.perm.begin(), factor_.perm.end());
      weights_ = weights_.index_select(0, at::tensor(order, at::kLong));
    }
  }

  // Computes the grids of all groups in original column order.
  void grids_before() {
    const T* weights = weights_.template const_data_ptr<T>();
    auto* scales = scales_.data_ptr<double>();
    auto* zeros = zeros_.data_ptr<double>();
    kit::parallel_for(static_cast<uint64_t>(rows_), static_cast<uint64_t>(kPanelRows),
                      [&](uint64_t first, uint64_t last) {
                        for (int64_t g = 0; g < groups_.count; ++g) {
                          if (options_.format != nullptr) {
                            format_scales(g, static_cast<int64_t>(first),
                                          static_cast<int64_t>(last));
                            continue;
                          }
                          grids_of_columns(weights, rows_, g * groups_.size,
                                           std::min((g + 1) * groups_.size, columns_),
                                           static_cast<int64_t>(first), static_cast<int64_t>(last),
                                           options_.kind, scales + g * rows_, zeros + g * rows_);
                        }
                      });
  }

  // The scales of one group's columns in original order, for rows [first, last).
  void format_scales(int64_t group, int64_t first, int64_t last) {
    const int64_t from = group * groups_.size;
    const int64_t count = std::min(groups_.size, columns_ - from);
    const T* weights = weights_.template const_data_ptr<T>() + from * rows_;
    double* scales = scales_.data_ptr<double>() + group * rows_;
    number_formats::ScaleChooser chooser(*options_.format, scale_rule_of(options_.kind),
                                         options_.tensor_scale);
    for (int64_t r = first; r < last; ++r) {
      scales[r] = chooser.scale_of(weights + r, count, rows_);
    }
  }

  Panel<T> panel_of(int64_t begin, int64_t end, T* errors, T* negated) {
    return {rows_,
            columns_,
            begin,
            end,
            options_.kind,
            grid_source(),
            groups_.size,
            group_.data(),
            factor_.upper.const_data_ptr<double>(),
            factor_.pivots.data(),
            weights_.template const_data_ptr<T>(),
            scales_.data_ptr<double>(),
            zeros_.data_ptr<double>(),
            codes_.data_ptr<uint8_t>(),
            errors,
            factor_.correction.defined() ? factor_.correction.const_data_ptr<double>() : nullptr,
            negated,
            loss_.data(),
            options_.format,
            options_.tensor_scale};
  }

  // places()[column] is the position of the column in the order of quantization.
  std::vector<int64_t> places() const {
    std::vector<int64_t> place(factor_.perm.size());
    for (size_t k = 0; k < place.size(); ++k) {
      place[static_cast<size_t>(factor_.perm[k])] = static_cast<int64_t>(k);
    }
    return place;
  }

  const Factor& factor_;
  const SolverOptions& options_;
  int64_t rows_;
  int64_t columns_;
  Groups groups_;
  at::Tensor weights_;          // [in, out]
  at::Tensor scales_;           // [groups, out] float64
  at::Tensor zeros_;            // [groups, out] float64
  at::Tensor codes_;            // [in, out] uint8
  std::vector<int32_t> group_;  // [in]; the group of the k-th column
  std::vector<double> loss_;    // [out]
};

template <typename T>
double solve_in(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
                const Coded& coded) {
  Solver<T> solver(weight, factor, options);
  const double loss = solver.run();
  solver.write(coded);
  return loss;
}

double solve_where_it_is(const at::Tensor& weight, const Factor& factor,
                         const SolverOptions& options, const Coded& coded) {
  if (!weight.is_cpu()) {
    return solve_by_kernels(weight, factor, options, coded);
  }
  return options.float64 ? solve_in<double>(weight, factor, options, coded)
                         : solve_in<float>(weight, factor, options, coded);
}

double finite(double loss) {
  if (!std::isfinite(loss)) {
    kit::fail(QUENCH_NUMERICAL, "the column updates overflow: loss = %g", loss);
  }
  return loss;
}

}  // namespace

double solve(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
             const Coded& coded) {
  return finite(solve_where_it_is(weight, factor, options, coded));
}

double solve_into(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
                  const at::Tensor& dequantized, const char* name) {
  return finite(solve_by_kernels_into(weight, factor, options, dequantized, name));
}

SolvedThere solve_to_format_there(const at::Tensor& weight, const Factor& factor,
                                  const SolverOptions& options) {
  SolvedThere out = solve_to_format_by_kernels(weight, factor, options);
  finite(out.loss);
  return out;
}

}  // namespace quench::quantizers
