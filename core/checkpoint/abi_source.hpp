// Presents a TensorSource to plugins.
#pragma once

#include <memory>

#include "core/checkpoint/tensor_source.hpp"
#include "quench/abi/source.h"

namespace quench {

// Owns the C table over a source.
class AbiSource {
 public:
  explicit AbiSource(std::shared_ptr<const TensorSource> source);
  AbiSource(const AbiSource&) = delete;
  AbiSource& operator=(const AbiSource&) = delete;

  // Valid as long as this object.
  const quench_source* get() const { return &table_; }

 private:
  std::shared_ptr<const TensorSource> source_;
  quench_source table_;
};

}  // namespace quench
