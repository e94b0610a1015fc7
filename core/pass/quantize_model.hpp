// Quantizes a model in place, group by group, with one forward per block.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/arithmetic/calibration_rows.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/float_weights.hpp"
#include "core/pass/channel_scale.hpp"
#include "core/pass/score.hpp"
#include "core/plugin/handles/format_writer.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"

namespace quench {

// The result of one linear.
struct LayerResult {
  std::string name;
  uint32_t block = 0;  // the number of blocks for output head and embedding
  int64_t out_features = 0;
  int64_t in_features = 0;
  // tr(ΔGΔᵀ) / tr(WGWᵀ) on the calibration rows, Δ = W − Ŵ; NaN without calibration.
  double relative_error = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, double> numbers;      // what the quantizer reported: damp, loss, ...
  std::map<std::string, std::string> texts;   // fallback, ...
  std::map<std::string, HostTensor> tensors;  // codes, scales, ...; only on request
};

// The cost of a pass, the same for all settings that share it.
struct PassCounts {
  uint64_t calibration_tokens = 0;  // includes attending padding
  uint64_t calibration_pads = 0;
  uint64_t stage_tokens = 0;        // calibration tokens × stages, summed over blocks
  uint64_t float_stage_tokens = 0;  // the same for the float stream
  uint64_t observed_groups = 0;     // input groups that observed activations, summed over blocks
  uint64_t settings = 1;            // quantizers that shared the pass
  // For a mixture of experts: its groups, those that no token reached, and those with fewer rows
  // than columns.
  uint64_t routed_groups = 0;
  uint64_t unreached_groups = 0;
  uint64_t thin_groups = 0;
  // Wall seconds of the pass by purpose: "forward", "float forward", "observe", "quantize",
  // "error", "scoring", "other", "all"; and the quantizer's own parts of "quantize": "factor",
  // "columns", ... They differ from run to run.
  std::map<std::string, double> seconds;
  std::map<std::string, double> cpu_seconds;  // of the process in the host's parts, all threads
  // Memory of the whole process: predicted at the start of the pass, and measured.
  uint64_t predicted_peak_bytes = 0;
  uint64_t peak_bytes = 0;
};

struct QuantizationResult : PassCounts {
  std::vector<LayerResult> layers;       // in the order of quantization
  double bits_per_weight = 0;            // mean over the weights of all quantized linears
  uint64_t fused_tokens = 0;             // tokens of the fused score requests
  std::vector<ScoreAnswer> answers;      // parallel to QuantizeOptions::fused
  std::shared_ptr<FormatWriter> stored;  // with QuantizeOptions::store_as: all linears
};

struct QuantizeOptions {
  const CalibrationRows* calibration = nullptr;  // null: without data
  // Layer-error evaluator (a quantizer that keeps the Gram matrix) for those without one; or null.
  QuantizerHandle* judge = nullptr;
  bool keep_tensors = false;
  // Stores the codes in this format, unless null, and puts the weights that reading them gives into
  // the model: the measured weights are the written ones, and later linears see them. Does not
  // choose codes anew for the format's rounded scales. Leaves out linears that stay in float.
  const FormatHandle* store_as = nullptr;
  const InputScales* input_scales = nullptr;  // of a transform; null: none
  // Keys of the cells that wait for each setting; empty: unknown.
  std::vector<std::span<const std::string>> setting_keys = {};
  // Sequences that run through each block as soon as it is quantized, so that their score, with the
  // bits of a later one, is known when the pass ends. Costs memory for their residual stream.
  std::span<const ScoreRequest> fused;
};

// Quantizes all linears. The model then has the quantized weights until `kept.restore()`. Throws
// Error naming block and linear; earlier ones can still be restored.
QuantizationResult quantize_model(ModelHandle& model, QuantizerHandle& quantizer,
                                  const QuantizeOptions& options, FloatWeights& kept);

// The result of one of several settings.
struct QuantizedSetting {
  QuantizationResult result;
  // Its own failure; the other settings are unaffected.
  std::optional<Error> error;
  std::vector<std::pair<std::string, HostTensor>> weights;  // by parameter
};

// Whether these can share one pass: all use the float model's activations, and all accept the
// groups of the first.
bool can_share_pass(std::span<QuantizerHandle* const> quantizers);

// Runs one pass for all `quantizers`, which must be able to share it, with one Gram matrix per
// input group and one factorization. The model is float afterwards. Memory: one set of quantized
// weights per setting. Throws what concerns all settings.
std::vector<QuantizedSetting> quantize_settings(ModelHandle& model,
                                                std::span<QuantizerHandle* const> quantizers,
                                                const QuantizeOptions& options);
// The model has the setting's weights until `kept.restore()`.
void set_weights(ModelHandle& model, const QuantizedSetting& setting, FloatWeights& kept);

// Quantizes one linear outside any model: `weight` [out,in], `inputs` [N,in] or null. The
// dequantized weight is in `tensors["weight"]`.
LayerResult quantize_layer(QuantizerHandle& quantizer, QuantizerHandle* judge,
                           const HostTensor& weight, const HostTensor* inputs);

}  // namespace quench
