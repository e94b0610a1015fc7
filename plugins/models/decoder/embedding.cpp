#include "models/decoder/embedding.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

constexpr uint64_t kGrain = 16;  // ids per task

template <typename T>
void add_rows(const at::Tensor& dh, const at::Tensor& ids, const at::Tensor& to) {
  const auto* from = dh.const_data_ptr<T>();
  const auto* id = ids.const_data_ptr<int64_t>();
  auto* into = to.mutable_data_ptr<T>();
  const auto width = static_cast<size_t>(dh.size(1));
  std::vector<size_t> order(static_cast<size_t>(ids.numel()));
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [id](size_t a, size_t b) { return id[a] < id[b]; });
  std::vector<size_t> begins;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || id[order[i]] != id[order[i - 1]]) {
      begins.push_back(i);
    }
  }
  const uint64_t count = begins.size();
  begins.push_back(order.size());
  kit::parallel_for(count, kGrain, [&](uint64_t first, uint64_t end) {
    for (uint64_t group = first; group < end; ++group) {
      T* row = into + static_cast<size_t>(id[order[begins[group]]]) * width;
      for (size_t i = begins[group]; i < begins[group + 1]; ++i) {
        const T* add = from + order[i] * width;
        for (size_t c = 0; c < width; ++c) {
          row[c] += add[c];
        }
      }
    }
  });
}

}  // namespace

void add_embedding_gradient(const at::Tensor& dh, const at::Tensor& ids, const at::Tensor& to) {
  if (!matrix::on_host(to)) {
    at::Tensor held = to;
    held.index_add_(0, ids, dh.to(to.scalar_type()));
  } else if (to.scalar_type() == at::kDouble) {
    add_rows<double>(dh.to(at::kDouble).contiguous(), ids, to);
  } else {
    add_rows<float>(dh.to(at::kFloat).contiguous(), ids, to);
  }
}

}  // namespace quench::decoder
