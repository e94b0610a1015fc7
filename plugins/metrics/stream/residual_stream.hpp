// A forward of some rows, stage by stage, that a metric drives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::metrics {

// Memory on the model's device.
class Buffer {
 public:
  Buffer(const quench_subject& subject, const quench_model_info& info, quench_dtype dtype,
         std::vector<int64_t> shape);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  quench_tensor view() const;
  quench_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // Copies all elements to the host.
  std::vector<char> bytes() const;
  // Takes the elements of a buffer of the same shape and type.
  void copy_from(const Buffer& other);

 private:
  const quench_subject& subject_;
  quench_device device_;
  quench_dtype dtype_;
  std::vector<int64_t> shape_, strides_;
  uint64_t size_;
  void* data_;
};

// Starts with the embedding of `rows` rows of `length` ids. Throws the errors of the model.
class ResidualStream {
 public:
  ResidualStream(const quench_subject& subject, std::span<const int32_t> ids, int64_t rows,
                 int64_t length);
  void embed();
  void block(uint32_t block);     // runs all its stages
  ResidualStream copied() const;  // with memory of its own
  // The residual stream [rows * length, width].
  const Buffer& residual() const { return *carried_.front().buffer; }

 private:
  struct Named {
    std::string name;
    std::shared_ptr<Buffer> buffer;
  };
  void stage(uint32_t block, uint32_t stage);
  quench_tensor tokens() const;

  const quench_subject& subject_;
  quench_model_info info_{};
  std::vector<int32_t> ids_;
  std::vector<int64_t> shape_, strides_;
  std::vector<Named> carried_;
};

}  // namespace quench::metrics
