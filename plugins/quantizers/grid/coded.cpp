#include "quantizers/grid/coded.hpp"

#include <ATen/ops/copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

template <typename T>
void dequantize_rows(const Coded& coded, T* to) {
  kit::parallel_for(
      static_cast<uint64_t>(coded.rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
          const uint8_t* codes = coded.codes.data() + r * coded.columns;
          const double* scales = coded.scales.data() + r * coded.groups;
          const double* zeros = coded.zeros.data() + r * coded.groups;
          for (int64_t c = 0; c < coded.columns; ++c) {
            const int32_t g = coded.g_idx[static_cast<size_t>(c)];
            to[r * coded.columns + c] = static_cast<T>(scales[g] * (codes[c] - zeros[g]));
          }
        }
      });
}

}  // namespace

Groups groups_of(int64_t columns, int64_t group_size) {
  const int64_t size = group_size == -1 ? columns : std::min(group_size, columns);
  return {size, size > 0 ? (columns + size - 1) / size : 0};
}

CodedStorage::CodedStorage(int64_t rows, int64_t columns, Groups groups)
    : codes_(static_cast<size_t>(rows * columns)),
      scales_(static_cast<size_t>(rows * groups.count)),
      zeros_(static_cast<size_t>(rows * groups.count)),
      g_idx_(static_cast<size_t>(columns)),
      view_{rows, columns, groups.count, codes_, scales_, zeros_, g_idx_} {
  fill_group_index(view_, groups);
}

uint64_t coded_bytes(uint64_t weights, int64_t columns, Groups groups) {
  const auto width = static_cast<uint64_t>(columns);
  const uint64_t scales_and_zeros = weights / width * static_cast<uint64_t>(groups.count) * 16;
  return weights + scales_and_zeros + width * sizeof(int32_t);
}

void fill_group_index(const Coded& coded, Groups groups) {
  for (size_t c = 0; c < coded.g_idx.size(); ++c) {
    coded.g_idx[c] = static_cast<int32_t>(static_cast<int64_t>(c) / groups.size);
  }
}

Coded make_coded(kit::QuantizeSink& sink, int64_t rows, int64_t columns, int64_t groups) {
  return {rows,
          columns,
          groups,
          sink.tensor<uint8_t>("codes", {rows, columns}),
          sink.tensor<double>("scales", {rows, groups}),
          sink.tensor<double>("zeros", {rows, groups}),
          sink.tensor<int32_t>("g_idx", {columns})};
}

void take(const at::Tensor& made, std::span<uint8_t> to) {
  at::from_blob(to.data(), made.sizes(), at::kByte).copy_(made);
}
void take(const at::Tensor& made, std::span<double> to) {
  at::from_blob(to.data(), made.sizes(), at::kDouble).copy_(made);
}

CodedThere::CodedThere(const at::Tensor& weight, Groups groups)
    : codes(at::empty(weight.sizes(), weight.options().dtype(at::kByte))),
      scales(at::empty({weight.size(0), groups.count}, weight.options().dtype(at::kDouble))),
      zeros(at::empty({weight.size(0), groups.count}, weight.options().dtype(at::kDouble))) {}

void take(const CodedThere& made, const Coded& to) {
  take(made.codes, to.codes);
  take(made.scales, to.scales);
  take(made.zeros, to.zeros);
}

void dequantize(const Coded& coded, const quench_tensor& to, const char* name) {
  for (size_t i = 0; i < coded.scales.size(); ++i) {
    if (!std::isfinite(coded.scales[i])) {
      kit::fail(QUENCH_NUMERICAL, "%s: the range of row %zu overflows", name,
                i / static_cast<size_t>(coded.groups));
    }
  }
  at::Tensor target = kit::borrow(to);
  const bool direct = target.device().is_cpu() && target.is_contiguous();
  at::Tensor host =
      direct ? target : at::empty(target.sizes(), at::TensorOptions(target.scalar_type()));
  if (host.scalar_type() == at::kDouble) {
    dequantize_rows(coded, host.data_ptr<double>());
  } else if (host.scalar_type() == at::kFloat) {
    dequantize_rows(coded, host.data_ptr<float>());
  } else {
    kit::fail(QUENCH_UNSUPPORTED, "%s: dequantized: wanted float32 or float64, got %s", name,
              kit::name_of(to.dtype).c_str());
  }
  if (!direct) {
    target.copy_(host);
  }
}

void dequantize_on_device(const at::Tensor& codes, const at::Tensor& scales,
                          const at::Tensor& zeros, const std::vector<int32_t>& g_idx,
                          const at::Tensor& to, const char* name) {
  constexpr int64_t kHeld = int64_t{1} << 23;  // elements that are float64 at once
  if (!matrix::all_finite(scales)) {
    kit::fail(QUENCH_NUMERICAL, "%s: the range of a row overflows", name);
  }
  const at::Tensor group = at::tensor(g_idx, at::kInt).to(codes.device());
  const int64_t most = std::max<int64_t>(1, kHeld / codes.size(1));
  for (int64_t first = 0; first < codes.size(0); first += most) {
    const int64_t count = std::min(most, codes.size(0) - first);
    const auto of_columns = [&](const at::Tensor& grids) {
      return grids.narrow(0, first, count).index_select(1, group);
    };
    to.narrow(0, first, count)
        .copy_(codes.narrow(0, first, count)
                   .to(at::kDouble)
                   .sub_(of_columns(zeros))
                   .mul_(of_columns(scales)));
  }
  if (!matrix::all_finite(to)) {  // a float64 scale may be finite where the weight's type is not
    kit::fail(QUENCH_NUMERICAL, "%s: the dequantized weight is not finite", name);
  }
}

void dequantize_on_device(const CodedThere& coded, Groups groups, const at::Tensor& to,
                          const char* name) {
  std::vector<int32_t> g_idx(static_cast<size_t>(coded.codes.size(1)));
  for (size_t c = 0; c < g_idx.size(); ++c) {
    g_idx[c] = static_cast<int32_t>(static_cast<int64_t>(c) / groups.size);
  }
  dequantize_on_device(coded.codes, coded.scales, coded.zeros, g_idx, to, name);
}

bool stays_on_device(const kit::LinearToQuantize& linear) {
  return !linear.wants_codes && !matrix::on_host(kit::borrow(linear.dequantized));
}

double bits_per_weight(const Coded& coded, GridKind kind, bool ordered) {
  const auto weights = static_cast<double>(coded.rows * coded.columns);
  const double per_group = 16.0 + (kind.sym ? 0.0 : static_cast<double>(kind.bits));
  const double grids = per_group * static_cast<double>(coded.rows * coded.groups);
  const double order = ordered ? 32.0 * static_cast<double>(coded.columns) : 0.0;
  return static_cast<double>(kind.bits) + (grids + order) / weights;
}

}  // namespace quench::quantizers
