// Tensors that a test writes down.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench::test {

class GivenSource final : public TensorSource {
 public:
  explicit GivenSource(std::string name = "given") : TensorSource(std::move(name)) {}

  // `values` in C order, as they are stored.
  template <typename T>
  GivenSource& tensor(const std::string& name, quench_dtype dtype, std::vector<int64_t> shape,
                      const std::vector<T>& values) {
    add({name, dtype, std::move(shape), count()});
    const auto* first = reinterpret_cast<const char*>(values.data());
    bytes_.emplace_back(first, first + values.size() * sizeof(T));
    return *this;
  }
  // A second name for an earlier tensor.
  GivenSource& tie(const std::string& name, const std::string& to) {
    const uint64_t index = index_of(to);
    add({name, info(index).dtype, info(index).shape, index});
    bytes_.push_back(std::string(bytes_[index]));
    return *this;
  }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    const uint64_t size = dtype_size(info(index).dtype);
    std::memcpy(destination, bytes_[index].data() + first * size, elements * size);
  }
  std::vector<std::string> bytes_;
};

}  // namespace quench::test
