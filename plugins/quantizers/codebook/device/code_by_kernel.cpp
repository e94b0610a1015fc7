#include "quantizers/codebook/device/code_by_kernel.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>

#include "quantizers/codebook/device/entries.hpp"
#include "quantizers/grid/coded.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kHeld = int64_t{1} << 23;  // weights whose indices are 32 bits wide at once

template <typename T>
BlocksThere code(const at::Tensor& weight, int64_t block, const LevelSearch& search,
                 const char* entry) {
  const int64_t blocks = (weight.numel() + block - 1) / block;
  BlocksThere made{at::empty({blocks}, weight.options().dtype(at::kFloat)),
                   at::empty(weight.sizes(), weight.options().dtype(at::kByte))};
  const CodeBlocks<T> kernel{
      weight.const_data_ptr<T>(),    weight.numel(), block, search, made.maxima.data_ptr<float>(),
      made.codes.data_ptr<uint8_t>()};
  cuda::run_kernel(entry, kernel, weight.device());
  return made;
}

}  // namespace

BlocksThere code_by_kernel(const at::Tensor& weight, int64_t block, const Levels& levels) {
  const LevelSearch search(levels);
  return weight.scalar_type() == at::kDouble
             ? code<double>(weight, block, search, kCodeBlocksDouble)
             : code<float>(weight, block, search, kCodeBlocksFloat);
}

void look_up_there(const at::Tensor& codes, std::span<const float> factors, int64_t block,
                   const Levels& levels, const at::Tensor& to) {
  const at::Tensor values = beside<float>(codes, levels).to(to.scalar_type());
  const at::Tensor scales = beside<float>(codes, factors).to(to.scalar_type());
  const at::Tensor from = codes.view({-1});
  const at::Tensor out = to.view({-1});
  const int64_t step = std::max<int64_t>(1, kHeld / block) * block;
  for (int64_t first = 0; first < from.numel(); first += step) {
    const int64_t count = std::min(step, from.numel() - first);
    const int64_t whole = count / block * block;
    const at::Tensor part = values.index_select(0, from.narrow(0, first, count).to(at::kInt));
    if (whole > 0) {
      part.narrow(0, 0, whole)
          .view({-1, block})
          .mul_(scales.narrow(0, first / block, whole / block).unsqueeze(1));
    }
    if (whole < count) {  // the last block
      part.narrow(0, whole, count - whole).mul_(scales[(first + whole) / block]);
    }
    out.narrow(0, first, count).copy_(part);
  }
}

}  // namespace quench::quantizers
