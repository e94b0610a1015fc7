#include "core/pass/store_layer.hpp"

#include <algorithm>
#include <cmath>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

// "x.weight" -> "x": files name tensors, and the parts of a linear are named beside its bias.
std::string module_of(const std::string& weight) {
  constexpr std::string_view kEnding = ".weight";
  return weight.ends_with(kEnding) ? weight.substr(0, weight.size() - kEnding.size()) : weight;
}

// A tensor of scales or zeros as float64, [out, groups].
std::vector<double> grid_tensor(const QuantizeSink& sink, const char* name,
                                const quench_linear_info& linear) {
  const auto found = sink.tensors.find(name);
  if (found == sink.tensors.end() || found->second.shape().size() != 2 ||
      found->second.shape()[0] != linear.out_features || found->second.shape()[1] < 1) {
    fail(QUENCH_UNSUPPORTED, "{}: the quantizer gives no {} [out, groups], which a file needs",
         linear.name, name);
  }
  const HostTensor& tensor = found->second;
  if (same_dtype(tensor.dtype(), kFloat64)) {
    return {tensor.as<double>().begin(), tensor.as<double>().end()};
  }
  if (same_dtype(tensor.dtype(), kFloat32)) {
    return {tensor.as<float>().begin(), tensor.as<float>().end()};
  }
  fail(QUENCH_UNSUPPORTED, "{}: {} are {}, wanted F64 or F32", linear.name, name,
       dtype_name(tensor.dtype()));
}

// Bits per code: the quantizer's number, else what its largest code needs.
int64_t bits_of(const QuantizeSink& sink, std::span<const uint8_t> codes) {
  const auto found = sink.numbers.find("bits");
  if (found != sink.numbers.end() && found->second >= 2 && found->second <= 8 &&
      found->second == std::rint(found->second)) {
    return static_cast<int64_t>(found->second);
  }
  const uint8_t largest = *std::max_element(codes.begin(), codes.end());
  int64_t bits = 2;
  while ((largest >> bits) != 0) {
    ++bits;
  }
  return bits;
}

std::vector<int32_t> group_index(const QuantizeSink& sink, const quench_linear_info& linear,
                                 int64_t groups) {
  const auto found = sink.tensors.find("g_idx");
  if (found == sink.tensors.end()) {
    if (groups != 1) {
      fail(QUENCH_UNSUPPORTED, "{}: the quantizer gives {} groups and no g_idx", linear.name,
           groups);
    }
    return std::vector<int32_t>(static_cast<size_t>(linear.in_features), 0);
  }
  const HostTensor& tensor = found->second;
  if (!same_dtype(tensor.dtype(), kInt32) ||
      tensor.shape() != std::vector<int64_t>{linear.in_features}) {
    fail(QUENCH_UNSUPPORTED, "{}: g_idx is {} {}, wanted I32 [in]", linear.name,
         dtype_name(tensor.dtype()), shape_text(tensor.shape()));
  }
  std::vector<int32_t> index(tensor.as<int32_t>().begin(), tensor.as<int32_t>().end());
  for (const int32_t group : index) {
    if (group < 0 || group >= groups) {
      fail(QUENCH_UNSUPPORTED, "{}: g_idx names group {} of {}", linear.name, group, groups);
    }
  }
  return index;
}

// A method may change a weight beyond its codes (by scaling columns, say), which a file would lose.
// float32 keeps 2^-24 of a value, which is at most the largest code times its scale.
void check_codes(const quench_coded_linear& linear, const HostTensor& dequantized) {
  constexpr double kRounding = 1e-6;
  const bool wide = same_dtype(dequantized.dtype(), kFloat64);
  for (int64_t i = 0; i < linear.out * linear.in; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto group =
        static_cast<size_t>(i / linear.in * linear.groups + linear.g_idx[i % linear.in]);
    const double value = linear.scales[group] * (linear.codes[at] - linear.zeros[group]);
    const double weight =
        wide ? dequantized.as<double>()[at] : static_cast<double>(dequantized.as<float>()[at]);
    const double largest = linear.scales[group] * static_cast<double>(int64_t{1} << linear.bits);
    if (!(std::fabs(value - weight) <= kRounding * largest)) {
      fail(
          QUENCH_UNSUPPORTED,
          "{}: element [{}, {}] is {}, its code stands for {}: the quantizer does more to a weight "
          "than a file holds",
          linear.name, i / linear.in, i % linear.in, weight, value);
    }
  }
}

// scales · (codes − zeros) in float32.
std::vector<float> code_weight(const quench_coded_linear& linear) {
  std::vector<float> out(static_cast<size_t>(linear.out * linear.in));
  for (int64_t i = 0; i < linear.out * linear.in; ++i) {
    const int64_t group = i / linear.in * linear.groups + linear.g_idx[i % linear.in];
    out[static_cast<size_t>(i)] =
        static_cast<float>(linear.scales[group] * (linear.codes[i] - linear.zeros[group]));
  }
  return out;
}

void copy_weight(const std::vector<float>& weight, HostTensor& to) {
  if (same_dtype(to.dtype(), kFloat64)) {
    std::copy(weight.begin(), weight.end(), to.as<double>().begin());
  } else {
    std::copy(weight.begin(), weight.end(), to.as<float>().begin());
  }
}

}  // namespace

void store_layer(FormatWriter& writer, const quench_linear_info& linear, const QuantizeSink& sink,
                 HostTensor& dequantized) {
  if (linear.role != nullptr && std::string_view(linear.role) == "embedding") {
    fail(QUENCH_UNSUPPORTED, "{}: an embedding; files hold codes of linears", linear.name);
  }
  const auto codes = sink.tensors.find("codes");
  if (codes == sink.tensors.end()) {
    if (sink.texts.contains("skipped")) {
      return;
    }
    fail(QUENCH_UNSUPPORTED, "{}: the quantizer gives no codes, which a file needs", linear.name);
  }
  const HostTensor& tensor = codes->second;
  if (!same_dtype(tensor.dtype(), kUInt8) ||
      tensor.shape() != std::vector<int64_t>{linear.out_features, linear.in_features}) {
    fail(QUENCH_UNSUPPORTED, "{}: codes are {} {}, wanted U8 [out, in]", linear.name,
         dtype_name(tensor.dtype()), shape_text(tensor.shape()));
  }
  const std::vector<double> scales = grid_tensor(sink, "scales", linear);
  const std::vector<double> zeros = grid_tensor(sink, "zeros", linear);
  if (scales.size() != zeros.size()) {
    fail(QUENCH_UNSUPPORTED, "{}: {} scales and {} zeros", linear.name, scales.size(),
         zeros.size());
  }
  const int64_t groups = static_cast<int64_t>(scales.size()) / linear.out_features;
  const std::vector<int32_t> index = group_index(sink, linear, groups);
  const std::string module = module_of(linear.weight);
  const quench_coded_linear coded{sizeof coded,
                                  module.c_str(),
                                  linear.out_features,
                                  linear.in_features,
                                  groups,
                                  bits_of(sink, tensor.as<uint8_t>()),
                                  tensor.as<uint8_t>().data(),
                                  scales.data(),
                                  zeros.data(),
                                  index.data()};
  std::vector<float> weight = code_weight(coded);
  if (!sink.has_op()) {
    check_codes(coded, dequantized);
  }
  writer.store(coded, weight);
  if (!sink.has_op()) {
    copy_weight(weight, dequantized);
  }
}

}  // namespace quench
