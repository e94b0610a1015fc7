#include "quantizers/gptq/device/solve_by_kernels.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "quantizers/gptq/device/column_loop.hpp"
#include "quantizers/gptq/device/entries.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "quench/kit/torch.hpp"
#include "shared/cuda/library.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
constexpr at::ScalarType kNumberType = std::is_same_v<T, double>    ? at::kDouble
                                       : std::is_same_v<T, float>   ? at::kFloat
                                       : std::is_same_v<T, int32_t> ? at::kInt
                                                                    : at::kByte;

// The function that runs a loop; of three the one for its types.
template <typename From, typename T>
const char* entry_for(const char* double_double, const char* float_double,
                      const char* float_float) {
  return std::is_same_v<From, double> ? double_double
         : std::is_same_v<T, double>  ? float_double
                                      : float_float;
}
template <typename From, typename T>
const char* entry_of(const ColumnLoop<From, T, GridNumbers>&) {
  return entry_for<From, T>(kColumnsDoubleDouble, kColumnsFloatDouble, kColumnsFloatFloat);
}
template <typename From, typename T>
const char* entry_of(const ColumnLoop<From, T, FormatNumbers>&) {
  return entry_for<From, T>(kColumnsToFormatDoubleDouble, kColumnsToFormatFloatDouble,
                            kColumnsToFormatFloatFloat);
}

template <typename From, typename T, typename Numbers>
class Loop {
 public:
  Loop(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
       const Numbers& numbers)
      : weight_(weight.contiguous()),
        rows_(weight.size(0)),
        columns_(weight.size(1)),
        groups_(groups_of(columns_, options.group_size)),
        group_(static_cast<size_t>(columns_)),
        dead_(here(factor.dead)),
        order_(here(factor.perm)),
        pivots_(here(factor.pivots)),
        upper_(here(factor.upper)),
        correction_(here(factor.correction)) {
    for (size_t k = 0; k < group_.size(); ++k) {
      const int64_t column = options.groups_stay() ? factor.perm[k] : static_cast<int64_t>(k);
      group_[k] = static_cast<int32_t>(column / groups_.size);
    }
    group_of_column_ = here(group_);
    const bool whole_rows = options.group_size == -1;
    const bool corrected = correction_.defined();
    loop_ = {rows_,
             columns_,
             options.block,
             groups_.size,
             groups_.count,
             whole_rows,
             whole_rows || options.static_groups ? GridSource::kGiven
             : options.stale                     ? GridSource::kStale
                                                 : GridSource::kCurrent,
             numbers,
             weight_.const_data_ptr<From>(),
             dead_.const_data_ptr<uint8_t>(),
             order_.const_data_ptr<int32_t>(),
             group_of_column_.const_data_ptr<int32_t>(),
             upper_.const_data_ptr<double>(),
             pivots_.const_data_ptr<double>(),
             corrected ? correction_.const_data_ptr<double>() : nullptr,
             made<uint8_t>(codes_, {rows_, columns_}),
             made<double>(scales_, {rows_, groups_.count}),
             made<double>(zeros_, {rows_, groups_.count}),
             made<double>(loss_, {rows_}),
             made<T>(turned_weight_, {columns_, rows_}),
             made<uint8_t>(turned_codes_, {columns_, rows_}),
             made<double>(grid_scales_, {groups_.count, rows_}),
             made<double>(grid_zeros_, {groups_.count, rows_}),
             made<T>(errors_, {options.block, rows_}),
             made<T>(negated_, {corrected ? options.block : 0, rows_})};
    loss_.zero_();
  }

  void run() {
    if (!has_kernels(loop_)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "block = %lld, wanted 1..%d on a device",
                static_cast<long long>(loop_.block), QuantizePanel<T, Numbers>::kWidest);
    }
    if (weight_.is_cpu()) {
      run_columns(loop_, [](const auto& kernel) { cuda::run_on_host(kernel, kernel.blocks()); });
    } else {
      cuda::run_on_gpu(entry_of(loop_), loop_, weight_.device().index());
    }
  }

  void write(const std::vector<int32_t>& order, const Coded& coded) const {
    take(codes_, coded.codes);
    take(scales_, coded.scales);
    take(zeros_, coded.zeros);
    const std::vector<int32_t> index = group_index(order);
    std::copy(index.begin(), index.end(), coded.g_idx.begin());
  }

  void write(const std::vector<int32_t>& order, const at::Tensor& dequantized,
             const char* name) const {
    dequantize_on_device(codes_, scales_, zeros_, group_index(order), dequantized, name);
  }

  CodedThere coded() const { return {codes_, scales_, zeros_}; }

  double loss() const {
    const at::Tensor loss = loss_.to(at::kCPU);
    const double* first = loss.const_data_ptr<double>();
    return std::accumulate(first, first + rows_, 0.0);
  }

 private:
  // The group of each column, in original order.
  std::vector<int32_t> group_index(const std::vector<int32_t>& order) const {
    std::vector<int32_t> index(group_.size());
    for (size_t k = 0; k < group_.size(); ++k) {
      index[static_cast<size_t>(order[k])] = group_[k];
    }
    return index;
  }
  // A copy in the memory of the weight; what is there already is not copied.
  at::Tensor here(const at::Tensor& matrix) const {
    return matrix.defined() ? matrix.to(weight_.device()).contiguous() : matrix;
  }
  template <typename Value>
  at::Tensor here(const std::vector<Value>& values) const {
    auto* first = const_cast<Value*>(values.data());
    return at::from_blob(first, {static_cast<int64_t>(values.size())}, kNumberType<Value>)
        .to(weight_.device());
  }
  template <typename Value>
  Value* made(at::Tensor& memory, at::IntArrayRef shape) const {
    memory = at::empty(shape, weight_.options().dtype(kNumberType<Value>));
    return memory.data_ptr<Value>();
  }

  at::Tensor weight_;
  int64_t rows_;
  int64_t columns_;
  Groups groups_;
  std::vector<int32_t> group_;  // of the k-th column
  at::Tensor dead_;
  at::Tensor order_;
  at::Tensor pivots_;
  at::Tensor upper_;
  at::Tensor correction_;
  at::Tensor group_of_column_;
  at::Tensor codes_;
  at::Tensor scales_;
  at::Tensor zeros_;
  at::Tensor loss_;  // of each row
  at::Tensor turned_weight_;
  at::Tensor turned_codes_;
  at::Tensor grid_scales_;
  at::Tensor grid_zeros_;
  at::Tensor errors_;
  at::Tensor negated_;
  ColumnLoop<From, T, Numbers> loop_{};
};

// `write` takes what was found from the loop.
template <typename From, typename T, typename Numbers, typename Write>
double solve_as(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
                const Numbers& numbers, const Write& write) {
  Loop<From, T, Numbers> loop(weight, factor, options, numbers);
  loop.run();
  write(loop);
  return loop.loss();
}

template <typename Numbers, typename Write>
double solve_and(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
                 const Numbers& numbers, const Write& write) {
  if (weight.scalar_type() == at::kDouble) {
    return solve_as<double, double>(weight, factor, options, numbers, write);
  }
  return options.float64 ? solve_as<float, double>(weight, factor, options, numbers, write)
                         : solve_as<float, float>(weight, factor, options, numbers, write);
}

}  // namespace

double solve_by_kernels(const at::Tensor& weight, const Factor& factor,
                        const SolverOptions& options, const Coded& coded) {
  return solve_and(weight, factor, options, GridNumbers{options.kind},
                   [&](const auto& loop) { loop.write(factor.perm, coded); });
}

double solve_by_kernels_into(const at::Tensor& weight, const Factor& factor,
                             const SolverOptions& options, const at::Tensor& dequantized,
                             const char* name) {
  return solve_and(weight, factor, options, GridNumbers{options.kind},
                   [&](const auto& loop) { loop.write(factor.perm, dequantized, name); });
}

SolvedThere solve_to_format_by_kernels(const at::Tensor& weight, const Factor& factor,
                                       const SolverOptions& options) {
  const FormatNumbers numbers{*options.format, scale_rule_of(options.kind), options.tensor_scale};
  std::optional<CodedThere> coded;
  const double loss =
      solve_and(weight, factor, options, numbers, [&](const auto& loop) { coded = loop.coded(); });
  return {*coded, loss};
}

}  // namespace quench::quantizers
