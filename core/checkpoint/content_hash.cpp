#include "core/checkpoint/content_hash.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
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

std::vector<uint64_t> name_order(const TensorSource& source) {
  std::vector<uint64_t> order(source.count());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(),
            [&](uint64_t a, uint64_t b) { return source.info(a).name < source.info(b).name; });
  return order;
}

uint64_t header_checksum(const TensorSource& source) {
  std::string text;
  for (const uint64_t index : name_order(source)) {
    const TensorInfo& tensor = source.info(index);
    text += fmt::format("{} {} {} {}\n", tensor.name.size(), tensor.name, dtype_name(tensor.dtype),
                        shape_text(tensor.shape));
  }
  return sha256_head(text);
}

TensorHashes hash_tensors(const TensorSource& source, const std::atomic<bool>* cancel) {
  ContentHash content(source.count());
  std::string blocks = fmt::format("{:016x}", header_checksum(source));
  std::vector<char> buffer;
  for (const uint64_t index : name_order(source)) {
    const TensorInfo& tensor = source.info(index);
    content.tensor(tensor);
    const uint64_t total = *element_count(tensor.shape);
    for (uint64_t first = 0; first < total; first += kHashBlock) {
      stop_if_asked(cancel);
      const uint64_t elements = std::min(kHashBlock, total - first);
      buffer.resize(elements * dtype_size(tensor.dtype));
      source.read(index, first, elements, buffer.data());
      content.content(buffer.data(), buffer.size());
      blocks += fmt::format("{:016x}", sha256_head({buffer.data(), buffer.size()}));
    }
  }
  return {content.hex_digest(), std::move(blocks)};
}

std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel) {
  return hash_tensors(source, cancel).content;
}

}  // namespace quench
