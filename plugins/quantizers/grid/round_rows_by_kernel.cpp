#include <ATen/ops/empty.h>

#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/round_rows_entries.hpp"
#include "quantizers/grid/round_rows_kernel.hpp"
#include "quench/kit/torch.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

struct Made {
  at::Tensor codes;   // [rows, columns]
  at::Tensor scales;  // [rows, groups]
  at::Tensor zeros;   // [rows, groups]
};

template <typename T>
Made run(const at::Tensor& weight, Groups groups, GridKind kind) {
  const auto like = [&](int64_t columns, at::ScalarType type) {
    return at::empty({weight.size(0), columns}, weight.options().dtype(type));
  };
  Made made{like(weight.size(1), at::kByte), like(groups.count, at::kDouble),
            like(groups.count, at::kDouble)};
  const RoundRows<T> kernel{weight.const_data_ptr<T>(),
                            weight.size(0),
                            weight.size(1),
                            groups.size,
                            groups.count,
                            kind,
                            nullptr,
                            made.codes.data_ptr<uint8_t>(),
                            made.scales.data_ptr<double>(),
                            made.zeros.data_ptr<double>(),
                            groups.count,
                            1};
  cuda::run_kernel(sizeof(T) == sizeof(double) ? kRoundRowsDouble : kRoundRowsFloat, kernel,
                   weight.device());
  return made;
}

Made run(const at::Tensor& weight, Groups groups, GridKind kind) {
  const at::Tensor dense = weight.contiguous();
  return weight.scalar_type() == at::kDouble ? run<double>(dense, groups, kind)
                                             : run<float>(dense, groups, kind);
}

}  // namespace

void round_rows_by_kernel(const at::Tensor& weight, Groups groups, GridKind kind,
                          const Coded& coded) {
  const Made made = run(weight, groups, kind);
  take(made.codes, coded.codes);
  take(made.scales, coded.scales);
  take(made.zeros, coded.zeros);
}

void round_rows_into(const at::Tensor& weight, Groups groups, GridKind kind,
                     const at::Tensor& dequantized, const char* name) {
  const Made made = run(weight, groups, kind);
  std::vector<int32_t> g_idx(static_cast<size_t>(weight.size(1)));
  for (size_t c = 0; c < g_idx.size(); ++c) {
    g_idx[c] = static_cast<int32_t>(static_cast<int64_t>(c) / groups.size);
  }
  dequantize_on_device(made.codes, made.scales, made.zeros, g_idx, dequantized, name);
}

}  // namespace quench::quantizers
