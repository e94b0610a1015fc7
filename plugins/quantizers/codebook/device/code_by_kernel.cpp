#include "quantizers/codebook/device/code_by_kernel.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "quantizers/codebook/device/entries.hpp"
#include "quantizers/grid/coded.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
void code(const at::Tensor& weight, int64_t block, const LevelSearch& search,
          std::span<float> maxima, std::span<uint8_t> codes, const char* entry) {
  const auto blocks = static_cast<int64_t>(maxima.size());
  const at::Tensor largest = at::empty({blocks}, weight.options().dtype(at::kFloat));
  const at::Tensor found = at::empty({weight.numel()}, weight.options().dtype(at::kByte));
  const CodeBlocks<T> kernel{weight.const_data_ptr<T>(), weight.numel(),           block, search,
                             largest.data_ptr<float>(),  found.data_ptr<uint8_t>()};
  cuda::run_kernel(entry, kernel, weight.device());
  at::from_blob(maxima.data(), {blocks}, at::kFloat).copy_(largest);
  take(found, codes);
}

}  // namespace

void code_by_kernel(const at::Tensor& weight, int64_t block, const Levels& levels,
                    std::span<float> maxima, std::span<uint8_t> codes) {
  const LevelSearch search(levels);
  if (weight.scalar_type() == at::kDouble) {
    code<double>(weight, block, search, maxima, codes, kCodeBlocksDouble);
  } else {
    code<float>(weight, block, search, maxima, codes, kCodeBlocksFloat);
  }
}

}  // namespace quench::quantizers
