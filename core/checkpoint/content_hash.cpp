#include "core/checkpoint/content_hash.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

// Hashes the length before every part, so that different sets of weights give different bytes.
void update_text(Sha256& hash, const std::string& text) {
  hash.update_number(text.size());
  hash.update(text);
}

}  // namespace

ContentHash::ContentHash(uint64_t tensors) {
  update_text(hash_, "quench weights 1");
  hash_.update_number(tensors);
}

void ContentHash::tensor(const TensorInfo& info) {
  update_text(hash_, info.name);
  update_text(hash_, dtype_name(info.dtype));
  hash_.update_number(info.shape.size());
  for (const int64_t size : info.shape) {
    hash_.update_number(static_cast<uint64_t>(size));
  }
}

std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel) {
  std::vector<uint64_t> order(source.count());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(),
            [&](uint64_t a, uint64_t b) { return source.info(a).name < source.info(b).name; });
  ContentHash hash(order.size());
  std::vector<char> buffer;
  for (const uint64_t index : order) {
    const TensorInfo& tensor = source.info(index);
    hash.tensor(tensor);
    constexpr uint64_t kChunkElements = uint64_t{1} << 20;
    const uint64_t total = *element_count(tensor.shape);
    const uint64_t size = dtype_size(tensor.dtype);
    for (uint64_t first = 0; first < total; first += kChunkElements) {
      const uint64_t elements = std::min(kChunkElements, total - first);
      if (cancel != nullptr && *cancel) {
        fail(QUENCH_CANCELLED, "stopped on request");
      }
      buffer.resize(elements * size);
      source.read(index, first, elements, buffer.data());
      hash.content(buffer.data(), buffer.size());
    }
  }
  return hash.hex_digest();
}

}  // namespace quench
