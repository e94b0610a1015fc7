// Weights on their way from a file: read into host memory, converted, and taken to the device while
// the next piece is read.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>

#include "models/decoder/copy_queue.hpp"

namespace quench::decoder {

class Arriving {
 public:
  static constexpr uint64_t kElements = uint64_t{1} << 22;  // of a piece: 16 MB of float32

  explicit Arriving(at::Device device);
  ~Arriving();  // as finish()
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;

  // Fills `to` [n <= kElements], on the device or in host memory, from n elements of type `stored`
  // that `read` writes into host memory. Each is rounded once. They may still be on their way to a
  // GPU when it returns.
  void bring(const at::Tensor& to, at::ScalarType stored,
             const std::function<void(const at::Tensor& piece)>& read);
  // What the device is told from now on finds them there; all memory that was read into is free.
  void finish();

 private:
  // Two take turns: one is copied while the other is filled.
  struct Turn {
    CopyQueue queue;
    at::Tensor pinned;  // bytes
  };
  at::Tensor host_piece(at::Tensor& bytes, at::ScalarType type, int64_t length, bool pinned) const;

  std::array<Turn, 2> turns_;
  size_t turn_ = 0;
  at::Tensor staging_;  // bytes of elements that are converted
};

}  // namespace quench::decoder
