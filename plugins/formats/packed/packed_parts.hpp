// The tensors in which one linear is stored, with what they must be.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/packed/tensor_files.hpp"

namespace quench::formats {

class PackedParts {
 public:
  PackedParts(std::shared_ptr<const TensorFiles> source, const std::string& module)
      : source_(std::move(source)), module_(module) {}

  // "FILE: linear 'NAME'", for messages.
  std::string where() const;
  const TensorFiles& source() const { return *source_; }
  const TensorInfo& info(uint64_t index) const { return source_->info(index); }

  // A part by its ending, ".qweight". The others throw Error(NOT_FOUND), with what is there.
  std::optional<uint64_t> find(std::string_view ending) const;
  uint64_t require(std::string_view ending) const;
  // Throw Error(DATA_LOSS) for another type or shape. `matrix`: sides of 1 to kMaxPackedSide.
  uint64_t matrix(std::string_view ending, quench_dtype dtype) const;
  uint64_t shaped(std::string_view ending, quench_dtype dtype,
                  const std::vector<int64_t>& shape) const;
  uint64_t floating(std::string_view ending, const std::vector<int64_t>& shape) const;
  [[noreturn]] void refuse(std::string_view ending, const std::string& wanted) const;

  template <typename T>
  std::vector<T> read(uint64_t index, uint64_t first, uint64_t count) const {
    std::vector<T> out(count);
    source_->read(index, first, count, out.data());
    return out;
  }
  // `rows` pieces of `count` words that lie `stride` apart, one after the other.
  std::vector<uint32_t> words(uint64_t index, uint64_t rows, uint64_t stride, uint64_t first,
                              uint64_t count) const;
  // Elements of any floating type.
  void floats(uint64_t index, uint64_t first, uint64_t count, float* to) const;

 private:
  std::string listing() const;

  std::shared_ptr<const TensorFiles> source_;
  std::string module_;
};

}  // namespace quench::formats
