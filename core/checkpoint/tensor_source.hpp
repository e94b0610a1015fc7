// A source of named tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quench/abi/tensor.h"

namespace quench {

struct TensorInfo {
  std::string name;
  quench_dtype dtype{};
  std::vector<int64_t> shape;
  // Index of an earlier tensor with exactly the same storage (tied weights), or its own index.
  uint64_t shared_with = 0;
};

// Product of the shape (1 for a scalar, 0 with an empty dimension); nothing if a dimension is
// negative or the product exceeds 63 bits. The order of dimensions does not change the outcome.
std::optional<uint64_t> element_count(const std::vector<int64_t>& shape);

// "[2, 3]"
std::string shape_text(const std::vector<int64_t>& shape);

// A table of tensors with access to their elements. Immutable once built, hence thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;

  uint64_t count() const { return tensors_.size(); }
  // Throws Error(INVALID_ARGUMENT) if the index is out of range.
  const TensorInfo& info(uint64_t index) const;
  std::optional<uint64_t> find(std::string_view name) const;
  // Like find, but throws Error(NOT_FOUND) naming the nearest name.
  uint64_t index_of(std::string_view name) const;

  // Copies `elements` elements, starting at element `first` in C order, in the tensor's own dtype.
  // Throws Error: INVALID_ARGUMENT outside the tensor, DATA_LOSS if the file changed.
  void read(uint64_t index, uint64_t first, uint64_t elements, void* destination) const;

  // For messages: the file, or whatever else the tensors come from.
  const std::string& description() const { return description_; }

 protected:
  explicit TensorSource(std::string description) : description_(std::move(description)) {}

  // Appends to the table; `shared_with` must be an earlier index or the tensor's own. Throws
  // Error(INVALID_ARGUMENT) for a repeated name, more than QUENCH_MAX_DIMENSIONS dimensions, a NUL
  // in the name (the ABI passes it as a C string) or a shape that overflows.
  uint64_t add(TensorInfo info);

 private:
  // The range is inside the tensor and not empty.
  virtual void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                             void* destination) const = 0;

  std::string description_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, uint64_t> by_name_;
};

// A whole tensor as float32; converts F64, F16 and BF16. Throws Error(UNSUPPORTED) for
// integers.
std::vector<float> read_float32(const TensorSource& source, uint64_t index);

}  // namespace quench
