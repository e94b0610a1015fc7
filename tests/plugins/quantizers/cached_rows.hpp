// A batch of ids for tests of keys and values.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "quench/abi/kind/model.h"
#include "quench/kit/scalar.hpp"

namespace quench::test {

// Rows of ids, all 0, in segments if there are some.
class Rows {
 public:
  Rows(int64_t rows, int64_t length, std::vector<int32_t> segments = {})
      : shape_{rows, length},
        ids_(static_cast<size_t>(rows * length)),
        segments_(std::move(segments)) {
    tokens_ = view(ids_);
    segments_view_ = view(segments_);
    batch_ = {sizeof batch_, 0, &tokens_, nullptr, segments_.empty() ? nullptr : &segments_view_};
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  const quench_batch& batch() const { return batch_; }

 private:
  quench_tensor view(std::vector<int32_t>& values) const {
    return {values.data(), {QUENCH_DEVICE_CPU, 0}, 2, kit::kInt32, shape_, nullptr, 0};
  }
  int64_t shape_[2];
  std::vector<int32_t> ids_;
  std::vector<int32_t> segments_;
  quench_tensor tokens_{};
  quench_tensor segments_view_{};
  quench_batch batch_{};
};

}  // namespace quench::test
