// The first rows of a group, on which the error of an op is measured.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quench::quantizers {

class RowSample {
 public:
  static constexpr int64_t kRows = 1024;

  // `rows` [n, in] count all; copies those that are still wanted.
  void add(const at::Tensor& rows);
  bool is_full() const { return rows_.defined() && rows_.size(0) >= kRows; }
  // float32 [at most kRows, in], where the rows are; undefined without rows.
  const at::Tensor& rows() const { return rows_; }

  static uint64_t bytes(int64_t in_features) {
    return static_cast<uint64_t>(kRows * in_features) * sizeof(float);
  }

 private:
  at::Tensor rows_;
};

}  // namespace quench::quantizers
