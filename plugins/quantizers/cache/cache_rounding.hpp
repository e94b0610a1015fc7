// Rounds the keys and values of one block in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quantizers/cache/cache_range.hpp"
#include "quantizers/cache/settings.hpp"
#include "quantizers/inputs/format.hpp"
#include "quench/abi/kind/model.h"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class CacheRounding {
 public:
  // Of settings that act. `block`: index, for messages.
  CacheRounding(const CacheSettings& settings, uint32_t block);

  // Keys and values [N, heads, width] of any float type, on any device. A value is computed in
  // float64 from what is there (16-bit types: widened to float32) and rounded once to its type.
  // What shares a scale is of one head and of one segment of a row: neither what comes before a
  // sequence in its batch nor its neighbours change it. Padding stays as it is. Throws NUMERICAL
  // for a value that is not finite, and INVALID_ARGUMENT for groups that do not divide a head.
  void apply(const at::Tensor& keys, const at::Tensor& values, const quench_batch& batch) const;

  // Bits of a number in storage, with its part of scales, where groups are full; of settings that
  // round.
  double bits() const;

 private:
  // Consecutive tokens of one segment in one row, as indices in the batch.
  struct Run {
    int64_t first;
    int64_t count;
  };
  // How keys or values are rounded.
  struct Part {
    const char* name;
    bool by_channel;
    bool rotates;
  };
  static std::vector<Run> runs_of(const quench_batch& batch);
  void round(const at::Tensor& x, const std::vector<Run>& runs, const Part& part) const;
  // The same, to the bit, by kernels where x is. False, and nothing is changed, where a value is
  // not finite or a range overflows.
  bool round_there(const at::Tensor& x, const std::vector<Run>& runs, const Part& part) const;
  template <typename T>
  bool round_by_kernel(const at::Tensor& values, const std::vector<Run>& runs,
                       const Part& part) const;
  template <typename T>
  void round_as(T* values, int64_t heads, int64_t width, const std::vector<Run>& runs,
                const Part& part) const;
  // One head of a run [count, width], or of some of its tokens where each is rounded by itself.
  void round_head(std::vector<double>& values, int64_t width, const Part& part) const;
  void round_group(std::span<double> values) const;
  CacheRange range() const;

  CacheSettings settings_;
  uint32_t block_;
  std::unique_ptr<ActivationFormat> format_;  // null: nothing is rounded
};

// Puts the op of the linear's block into the sink and records the bits of a cached number, if
// settings act and the linear is the first of its block.
void round_cache(const CacheSettings& settings, const kit::LinearToQuantize& linear,
                 kit::QuantizeSink& sink);

}  // namespace quench::quantizers
