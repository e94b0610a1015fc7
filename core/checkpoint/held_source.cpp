#include "core/checkpoint/held_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/io/sha256.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr uint64_t kDigits = 16;  // of a checksum

}  // namespace

HeldSource::HeldSource(std::shared_ptr<const TensorSource> source, std::string blocks)
    : TensorSource(source->description()),
      source_(std::move(source)),
      blocks_(std::move(blocks)),
      starts_(source_->count()) {
  uint64_t next = 1;  // after the names, types and shapes
  for (const uint64_t index : name_order(*source_)) {
    starts_[index] = next;
    next += (*element_count(source_->info(index).shape) + kHashBlock - 1) / kHashBlock;
  }
  for (uint64_t i = 0; i < source_->count(); ++i) {
    add(source_->info(i));
  }
  const std::string header = fmt::format("{:016x}", header_checksum(*source_));
  if (blocks_.size() != next * kDigits || !blocks_.starts_with(header)) {
    fail(QUENCH_UNAVAILABLE,
         "{}: other tensors than those that were hashed for the keys (checksum of their names, "
         "types and shapes {} then, {} now); run the command again",
         description(), blocks_.substr(0, kDigits), header);
  }
}

void HeldSource::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                               void* destination) const {
  const uint64_t size = dtype_size(info(index).dtype);
  const uint64_t total = *element_count(info(index).shape);
  auto* out = static_cast<char*>(destination);
  std::vector<char> whole;  // of a block of which a part is wanted
  for (const uint64_t end = first + elements; first < end;) {
    const uint64_t block = first / kHashBlock;
    const uint64_t begin = block * kHashBlock;
    const uint64_t count = std::min(kHashBlock, total - begin);
    const uint64_t wanted = std::min(end, begin + count) - first;
    char* into = out;
    if (wanted < count) {
      whole.resize(count * size);
      into = whole.data();
    }
    source_->read(index, begin, count, into);
    check(index, block, {into, count * size});
    if (into != out) {
      std::memcpy(out, into + (first - begin) * size, wanted * size);
    }
    out += wanted * size;
    first += wanted;
  }
}

void HeldSource::check(uint64_t index, uint64_t block, std::string_view bytes) const {
  const std::string got = fmt::format("{:016x}", sha256_head(bytes));
  const std::string wanted = blocks_.substr((starts_[index] + block) * kDigits, kDigits);
  if (got != wanted) {
    fail(QUENCH_UNAVAILABLE,
         "{}: tensor '{}', elements from {}: not the bytes that were hashed for the keys (sha256 "
         "{} then, {} now); run the command again; if it says so again, the bytes change while the "
         "file's times do not: get the file anew, or measure it as it is with --fresh",
         description(), printable(info(index).name), block * kHashBlock, wanted.substr(0, 12),
         got.substr(0, 12));
  }
}

}  // namespace quench
