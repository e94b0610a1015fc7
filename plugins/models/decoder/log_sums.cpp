#include "models/decoder/log_sums.hpp"

#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

constexpr uint64_t kSummedRows = 4;  // per task

template <typename T>
std::vector<RowSum> sums_of(const at::Tensor& logits) {
  std::vector<RowSum> sums(static_cast<size_t>(logits.size(0)));
  const T* values = logits.const_data_ptr<T>();
  const int64_t columns = logits.size(1);
  const matrix::Isa isa = matrix::isa();
  kit::parallel_for(sums.size(), kSummedRows, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      sums[row] = sum_exponentials(isa, values + static_cast<int64_t>(row) * columns, columns);
    }
  });
  return sums;
}

}  // namespace

std::vector<RowSum> log_sums(const at::Tensor& logits) {
  const at::Tensor held = logits.contiguous();
  return held.scalar_type() == at::kDouble ? sums_of<double>(held) : sums_of<float>(held);
}

}  // namespace quench::decoder
