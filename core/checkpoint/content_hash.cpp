#include "core/checkpoint/content_hash.hpp"

#include <algorithm>
#include <functional>
#include <future>
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

namespace {

// Some blocks of a tensor: their bytes, and the checksum of each.
struct Stretch {
  uint64_t index = 0;
  uint64_t first = 0;
  std::vector<char> bytes = {};
  std::string checksums = {};
};

constexpr uint64_t kStretch = 32 * kHashBlock;  // elements

Stretch read_stretch(const TensorSource& source, Stretch stretch) {
  const TensorInfo& tensor = source.info(stretch.index);
  const uint64_t size = dtype_size(tensor.dtype);
  const uint64_t elements = std::min(kStretch, *element_count(tensor.shape) - stretch.first);
  stretch.bytes.resize(elements * size);
  stretch.checksums.clear();
  for (uint64_t first = 0; first < elements; first += kHashBlock) {
    const uint64_t count = std::min(kHashBlock, elements - first);
    char* into = stretch.bytes.data() + first * size;
    source.read(stretch.index, stretch.first + first, count, into);
    stretch.checksums += fmt::format("{:016x}", sha256_head({into, count * size}));
  }
  return stretch;
}

}  // namespace

// The content is hashed in one go, so another thread reads the next blocks and checks them.
TensorHashes hash_tensors(const TensorSource& source, const std::atomic<bool>* cancel) {
  std::vector<Stretch> stretches;
  for (const uint64_t index : name_order(source)) {
    const uint64_t total = *element_count(source.info(index).shape);
    for (uint64_t first = 0; first == 0 || first < total; first += kStretch) {
      stretches.push_back({index, first});
    }
  }
  const auto begin = [&](size_t number, Stretch memory) {
    Stretch& wanted = stretches[number];
    wanted.bytes = std::move(memory.bytes);
    return std::async(std::launch::async, read_stretch, std::cref(source), std::move(wanted));
  };
  ContentHash content(source.count());
  std::string blocks = fmt::format("{:016x}", header_checksum(source));
  Stretch here;
  std::future<Stretch> next = stretches.empty() ? std::future<Stretch>() : begin(0, {});
  for (size_t number = 1; number <= stretches.size(); ++number) {
    stop_if_asked(cancel);
    Stretch read = next.get();
    if (number < stretches.size()) {
      next = begin(number, std::move(here));
    }
    here = std::move(read);
    if (here.first == 0) {
      content.tensor(source.info(here.index));
    }
    content.content(here.bytes.data(), here.bytes.size());
    blocks += here.checksums;
  }
  return {content.hex_digest(), std::move(blocks)};
}

std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel) {
  return hash_tensors(source, cancel).content;
}

}  // namespace quench
