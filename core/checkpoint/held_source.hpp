// Weights that are held to what was hashed, in the buffer that is computed with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// A source whose reads throw Error(UNAVAILABLE), naming the tensor and both checksums, unless the
// bytes that they hand out are those of `blocks` (content_hash.hpp): a file may have been replaced
// since, and may rot with its size and times unchanged. A read of a part of a block reads all of
// it, so ranges that begin and end with blocks are read once.
class HeldSource final : public TensorSource {
 public:
  // Throws Error(UNAVAILABLE) if names, types and shapes are not those of `blocks`.
  HeldSource(std::shared_ptr<const TensorSource> source, std::string blocks);

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;
  void check(uint64_t index, uint64_t block, std::string_view bytes) const;

  std::shared_ptr<const TensorSource> source_;
  std::string blocks_;
  std::vector<uint64_t> starts_;  // [tensor]: its first checksum
};

}  // namespace quench
