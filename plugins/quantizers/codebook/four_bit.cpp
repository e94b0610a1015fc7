#include "quantizers/codebook/four_bit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quantizers/codebook/device/code_by_kernel.hpp"
#include "quantizers/codebook/double_quantization.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/placed_group.hpp"
#include "quantizers/grid/weight.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

void put(kit::QuantizeSink& sink, const char* name, std::span<const float> values) {
  const auto to = sink.tensor<float>(name, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), to.begin());
}

void put(kit::QuantizeSink& sink, const CodedFactors& factors) {
  const auto codes =
      sink.tensor<uint8_t>("absmax_codes", {static_cast<int64_t>(factors.codes.size())});
  std::copy(factors.codes.begin(), factors.codes.end(), codes.begin());
  put(sink, "absmax_levels", dynamic_levels());
  put(sink, "absmax_maxima", factors.maxima);
  put(sink, "absmax_mean", {&factors.mean, 1});
}

}  // namespace

void FourBit::Params::describe(kit::Fields<Params>& fields) {
  fields
      .add("block", &Params::block,
           "consecutive weights, also across rows, that share a factor (blocksize)")
      .range(16, 4096);
  fields.add(
      "double_quantization", &Params::double_quantization,
      "whether to store the factors in 8 bits, in blocks of 256 (bnb_4bit_use_double_quant)");
  kit::add_modules(fields);
  fields.add("lm_head", &Params::lm_head, "also round the output head, unless it is tied");
  fields.add("embedding", &Params::embedding, "also round the token embedding");
}

FourBit::FourBit(const Params& params, const Levels& levels)
    : params_(params), levels_(levels), rules_(params.modules) {
  for (const std::string& rule : params.modules) {
    kit::expects(rule.ends_with(" skip"), "modules: a 4-bit type only allows \"PATTERN skip\"");
  }
}

uint32_t FourBit::needs() const {
  return QUENCH_TAKES_DEVICE_WEIGHTS | (params_.lm_head ? QUENCH_QUANTIZES_HEAD : 0u) |
         (params_.embedding ? QUENCH_QUANTIZES_EMBEDDING : 0u);
}

std::unique_ptr<kit::QuantizerGroup> FourBit::begin(const quench_group_args& group) {
  return std::make_unique<PlacedGroup>(group);
}

// Indices, the dequantized weight, and a factor per block, both here and in the sink.
kit::GroupMemory FourBit::memory(const kit::GroupShapes& shapes) const {
  const uint64_t weights = shapes.largest_weight();
  kit::GroupMemory out;
  out.linear = weights * (1 + shapes.weight_dtype.bits / 8) +
               weights / static_cast<uint64_t>(params_.block) * 2 * sizeof(float);
  return out;
}

void FourBit::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                       kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  const at::Tensor weight = weight_on(linear, static_cast<PlacedGroup&>(group).device());
  if (rules_.setting_of(linear.info.name, {{4, true}, -1, false}).skip) {
    keep_float(weight, linear, sink);
    return;
  }
  if (weight.scalar_type() == at::kDouble) {
    quantize_as<double>(weight, linear, sink);
  } else {
    quantize_as<float>(weight, linear, sink);
  }
}

// Codes and largest magnitudes stay where the weight is; the magnitudes, one per block, are looked
// at, and coded in 8 bits, by the host.
template <typename T>
void FourBit::quantize_as(const at::Tensor& weight, const kit::LinearToQuantize& linear,
                          kit::QuantizeSink& sink) const {
  const auto& shape = linear.weight.shape;
  const auto count = static_cast<size_t>(weight.numel());
  const bool stays = stays_on_device(linear) && !matrix::on_host(weight);
  std::span<uint8_t> codes;
  if (!stays) {
    codes = sink.tensor<uint8_t>("indices", {shape[0], shape[1]});
  }
  BlocksThere there;
  std::vector<float> factors;
  if (matrix::on_host(weight)) {
    const std::span<const T> values(weight.const_data_ptr<T>(), count);
    factors = block_maxima(values, params_.block);
    find_codes<T>(values, factors, params_.block, levels_, codes);
  } else {
    there = code_by_kernel(weight, params_.block, levels_);
    const at::Tensor maxima = there.maxima.cpu();
    factors.assign(maxima.const_data_ptr<float>(), maxima.const_data_ptr<float>() + maxima.numel());
  }
  double factor_bits = 32;
  factors =
      kept_factors(std::move(factors), linear.info.name, stays ? nullptr : &sink, factor_bits);
  if (stays) {
    look_up_there(there.codes, factors, params_.block, levels_, kit::borrow(linear.dequantized));
  } else {
    if (there.codes.defined()) {
      take(there.codes, codes);
    }
    put(sink, "scales", factors);
    put(sink, "table", levels_);
    at::Tensor out = kit::host_empty({shape[0], shape[1]}, c10::CppTypeToScalarType<T>::value);
    look_up<T>(codes, factors, params_.block, levels_, {out.template data_ptr<T>(), count});
    kit::borrow(linear.dequantized).copy_(out);
  }
  sink.number("bits", 4);
  sink.number("block", static_cast<double>(params_.block));
  sink.number("entries", static_cast<double>(kLevels));
  sink.number("bits_per_weight",
              4 + factor_bits * static_cast<double>(factors.size()) / static_cast<double>(count));
}

std::vector<float> FourBit::kept_factors(std::vector<float> factors, const char* name,
                                         kit::QuantizeSink* sink, double& bits) const {
  if (!std::all_of(factors.begin(), factors.end(), [](float f) { return std::isfinite(f); })) {
    kit::fail(QUENCH_NUMERICAL, "%s: a weight is beyond float32", name);
  }
  if (!params_.double_quantization) {
    return factors;
  }
  CodedFactors coded = code_factors(factors);
  if (sink != nullptr) {
    put(*sink, coded);
  }
  const double held = 32.0 * static_cast<double>(coded.maxima.size() + 1);
  bits = 8 + held / static_cast<double>(factors.size());
  return std::move(coded.decoded);
}

}  // namespace quench::quantizers
