// A linear's weight out of the tensors in which a format stores it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/packed/quantization_config.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

class PackedLinear {
 public:
  virtual ~PackedLinear() = default;
  PackedLinear(const PackedLinear&) = delete;
  PackedLinear& operator=(const PackedLinear&) = delete;

  int64_t out_features() const { return out_; }
  int64_t in_features() const { return in_; }
  // Rows are read in runs that begin at a multiple of this, where codes begin a word.
  virtual int64_t row_step() const { return 1; }
  // Rows [first, first + rows) of the dequantized weight, [rows, in] float32. Throws Error:
  // DATA_LOSS for codes that contradict each other, and what reading throws.
  virtual void dequantize(int64_t first, int64_t rows, float* to) const = 0;

 protected:
  PackedLinear(int64_t out, int64_t in) : out_(out), in_(in) {}

 private:
  int64_t out_;
  int64_t in_;
};

// The endings of a stored linear's tensors, beside the bias; the first is always there.
const std::vector<std::string_view>& part_endings(PackedFormat format);

// The linear called `module`, whose first part `source` has. Checks element types and shapes, and
// reads the group of each column. Throws Error: NOT_FOUND for a missing part, DATA_LOSS for what
// contradicts itself or the config, each naming the linear.
std::unique_ptr<PackedLinear> open_packed_linear(const std::shared_ptr<const TensorSource>& source,
                                                 const std::string& module,
                                                 const QuantizationConfig& config);

}  // namespace quench
