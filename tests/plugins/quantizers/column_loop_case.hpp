// A layer for the kernels of GPTQ's column loop: everything that the loop is given, and memory for
// what it makes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "quantizers/gptq/device/column_loop.hpp"
#include "quantizers/gptq/reference.hpp"

namespace quench::test {

struct ColumnLoopResult {
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<double> loss;  // of each row
  bool operator==(const ColumnLoopResult&) const = default;
};

template <typename From, typename T, typename Numbers = quantizers::GridNumbers>
class ColumnLoopCase {
 public:
  ColumnLoopCase(const quantizers::reference::Matrix& weight,
                 const quantizers::reference::Factored& factored,
                 const quantizers::SolverOptions& options,
                 bool corrected) requires std::is_same_v<Numbers, quantizers::GridNumbers>
      : ColumnLoopCase(weight, factored, options, corrected, Numbers{options.kind}) {}
  ColumnLoopCase(const quantizers::reference::Matrix& weight,
                 const quantizers::reference::Factored& factored,
                 const quantizers::SolverOptions& options, bool corrected, const Numbers& numbers)
      : weight_(weight.values.begin(), weight.values.end()), factored_(factored) {
    const int64_t rows = weight.rows;
    const int64_t columns = weight.columns;
    const quantizers::Groups groups = quantizers::groups_of(columns, options.group_size);
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t column = factored_.perm[static_cast<size_t>(k)];
      const int64_t own = options.groups_stay() ? column : k;
      group_.push_back(static_cast<int32_t>(own / groups.size));
      pivots_.push_back(factored_.u(k, k));
    }
    const bool whole_rows = options.group_size == -1;
    loop_ = {rows,
             columns,
             options.block,
             groups.size,
             groups.count,
             whole_rows,
             whole_rows || options.static_groups ? quantizers::GridSource::kGiven
             : options.stale                     ? quantizers::GridSource::kStale
                                                 : quantizers::GridSource::kCurrent,
             numbers,
             weight_.data(),
             factored_.dead.data(),
             factored_.perm.data(),
             group_.data(),
             factored_.u.values.data(),
             pivots_.data(),
             corrected ? factored_.p.values.data() : nullptr,
             made(result_.codes, rows * columns),
             made(result_.scales, rows * groups.count),
             made(result_.zeros, rows * groups.count),
             made(result_.loss, rows),
             made(weights_, columns * rows),
             made(turned_, columns * rows),
             made(grid_scales_, groups.count * rows),
             made(grid_zeros_, groups.count * rows),
             made(errors_, options.block * rows),
             made(negated_, options.block * rows)};
  }
  ColumnLoopCase(const ColumnLoopCase&) = delete;
  ColumnLoopCase& operator=(const ColumnLoopCase&) = delete;

  const quantizers::ColumnLoop<From, T, Numbers>& loop() const { return loop_; }
  const std::vector<int32_t>& group() const { return group_; }
  const std::vector<double>& pivots() const { return pivots_; }
  const ColumnLoopResult& result() const { return result_; }

  const ColumnLoopResult& run_on_host(cuda::Order order) {
    quantizers::run_columns(
        loop_, [&](const auto& kernel) { cuda::run_on_host(kernel, kernel.blocks(), order); });
    return result_;
  }

 private:
  template <typename Value>
  static Value* made(std::vector<Value>& memory, int64_t count) {
    memory.resize(static_cast<size_t>(count));
    return memory.data();
  }

  std::vector<From> weight_;
  quantizers::reference::Factored factored_;
  std::vector<int32_t> group_;
  std::vector<double> pivots_;
  ColumnLoopResult result_;
  std::vector<T> weights_;
  std::vector<uint8_t> turned_;
  std::vector<double> grid_scales_;
  std::vector<double> grid_zeros_;
  std::vector<T> errors_;
  std::vector<T> negated_;
  quantizers::ColumnLoop<From, T, Numbers> loop_{};
};

}  // namespace quench::test
