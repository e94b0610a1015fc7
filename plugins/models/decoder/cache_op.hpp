// What a caller has put on the keys and values of a block, or nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/decoder/batch.hpp"
#include "quench/abi/kind/model.h"

namespace quench::decoder {

// Owns its op, if it has one.
class CacheOp {
 public:
  CacheOp() = default;
  CacheOp(CacheOp&& other) noexcept;
  CacheOp& operator=(CacheOp&&) = delete;
  ~CacheOp();

  // Takes ownership of `op` and releases an earlier one; nullptr only releases.
  void set(const quench_cache_op* op);
  bool is_set() const { return op_.apply != nullptr; }

  struct Kept {
    at::Tensor keys;
    at::Tensor values;
  };
  // k and v [B,T,K,D] as the op leaves copies of them; inside an AutogradScope with their
  // derivatives. Only with an op.
  Kept operator()(const at::Tensor& k, const at::Tensor& v, const Batch& batch) const;

 private:
  quench_cache_op op_{};  // op_.apply is null if there is none
};

}  // namespace quench::decoder
