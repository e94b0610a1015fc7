// Quantizing a model in place, group by group, with one forward per block.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/model_handle.hpp"
#include "core/plugin/quantizer_handle.hpp"
#include "core/run/host_tensor.hpp"

namespace quench {

// What came of one linear.
struct LayerResult {
  std::string name;
  uint32_t block = 0;
  int64_t out_features = 0;
  int64_t in_features = 0;
  // tr(ΔGΔᵀ) / tr(WGWᵀ) on the calibration rows, Δ = W − Ŵ; NaN without calibration.
  double relative_error = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, double> numbers;      // what the quantizer reported: damp, loss, ...
  std::map<std::string, std::string> texts;   // fallback, ...
  std::map<std::string, HostTensor> tensors;  // codes, scales, ...; only when asked to keep them
};

struct QuantizationResult {
  std::vector<LayerResult> layers;  // in the order in which they were quantized
  double bits_per_weight = 0;       // mean over the weights of all quantized linears
  // Counters that show what the pass cost.
  uint64_t calibration_tokens = 0;
  uint64_t stage_tokens = 0;     // calibration tokens × stages, summed over blocks
  uint64_t observed_groups = 0;  // input groups that were shown rows, summed over blocks
  // Of a mixture of experts: its groups, those that no row reached, and those that fewer rows
  // reached than they have columns.
  uint64_t routed_groups = 0;
  uint64_t unreached_groups = 0;
  uint64_t thin_groups = 0;
};

// Rows of calibration ids: row r is ids[starts[r] .. starts[r+1]).
struct CalibrationRows {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts;
};

// Keeps the float weights of a model that is quantized in place, and puts them back.
class FloatWeights {
 public:
  explicit FloatWeights(ModelHandle& model) : model_(model) {}
  ~FloatWeights() = default;
  FloatWeights(const FloatWeights&) = delete;
  FloatWeights& operator=(const FloatWeights&) = delete;

  // Keeps the current value of a weight, once.
  void keep(const std::string& name, const HostTensor& value);
  void keep_op(uint32_t block, uint32_t group, uint32_t linear);
  // Sets every kept weight back and forgets it.
  void restore();

 private:
  struct Op {
    uint32_t block, group, linear;
  };
  ModelHandle& model_;
  std::map<std::string, HostTensor> values_;
  std::vector<Op> ops_;
};

struct QuantizeOptions {
  const CalibrationRows* calibration = nullptr;  // null: without data
  // A quantizer that offers the Gram extension, to measure the error of one that does not; or null.
  QuantizerHandle* judge = nullptr;
  bool keep_tensors = false;
};

// Quantizes all linears. The model then carries the quantized weights until `kept.restore()`.
// Throws Error naming block and linear; what was quantized before it is still restorable.
QuantizationResult quantize_model(ModelHandle& model, QuantizerHandle& quantizer,
                                  const QuantizeOptions& options, FloatWeights& kept);

// One linear of its own, outside any model: `weight` [out,in], `inputs` [N,in] or null. The
// dequantized weight is in `tensors["weight"]`.
LayerResult quantize_layer(QuantizerHandle& quantizer, QuantizerHandle* judge,
                           const HostTensor& weight, const HostTensor* inputs);

}  // namespace quench
