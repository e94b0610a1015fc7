// A checkpoint of another tool's quantized weights, as the float weights that they stand for.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/checkpoint/packed/packed_linear.hpp"
#include "core/checkpoint/packed/quantization_config.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// Every stored linear `m` is one tensor `m.weight`, float32 [out, in]; all other tensors are as
// they are. Its content hash is that of the dequantized weights: of what is measured. A read keeps
// one run of rows in memory, at most 8 MiB of float32 or one row.
class DequantizedSource final : public TensorSource {
 public:
  // Throws Error: DATA_LOSS where no linear is stored as the config says, where parts of one stand
  // alone, and what open_packed_linear throws.
  DequantizedSource(std::shared_ptr<const TensorSource> base, QuantizationConfig config);

  const QuantizationConfig& config() const { return config_; }
  uint64_t linear_count() const { return linear_count_; }

 private:
  struct Place {
    std::unique_ptr<PackedLinear> linear;  // or null: the base's tensor
    uint64_t base = 0;
  };

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;
  void add_linear(const std::string& module);
  void check_stray(const std::string& name) const;

  std::shared_ptr<const TensorSource> base_;
  QuantizationConfig config_;
  std::vector<Place> places_;
  uint64_t linear_count_ = 0;

  // The run of rows that was read last: callers read in order and in pieces.
  struct Run {
    uint64_t index = 0;
    int64_t first = 0;
    int64_t rows = 0;  // 0: none yet
    std::vector<float> values;
  };
  mutable std::mutex mutex_;
  mutable Run run_;
};

}  // namespace quench
