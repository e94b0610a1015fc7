#include "core/pass/store_layer.hpp"

#include <algorithm>
#include <cmath>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/export_weights.hpp"
#include "core/pass/codebook.hpp"

namespace quench {

namespace {

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

// What a linear's codes stand for.
struct Element {
  double value;
  double largest;  // the magnitude that rounding is relative to
};

// The weight in float32. A method may change it beyond its codes (by scaling columns, say), which a
// file would lose: `dequantized`, if it is not null, must be the same. float32 keeps 2^-24 of a
// value, which is at most the largest code times its scale.
template <typename ElementAt>
std::vector<float> checked_weight(const quench_linear_info& linear, const HostTensor* dequantized,
                                  ElementAt element_at) {
  constexpr double kRounding = 1e-6;
  const bool wide = dequantized != nullptr && same_dtype(dequantized->dtype(), kFloat64);
  std::vector<float> out(static_cast<size_t>(linear.out_features * linear.in_features));
  for (size_t i = 0; i < out.size(); ++i) {
    const Element element = element_at(i);
    out[i] = static_cast<float>(element.value);
    if (dequantized == nullptr) {
      continue;
    }
    const double weight =
        wide ? dequantized->as<double>()[i] : static_cast<double>(dequantized->as<float>()[i]);
    if (!(std::fabs(element.value - weight) <= kRounding * element.largest)) {
      const auto columns = static_cast<size_t>(linear.in_features);
      fail(
          QUENCH_UNSUPPORTED,
          "{}: element [{}, {}] is {}, its code stands for {}: the quantizer does more to a weight "
          "than a file holds",
          module_of(linear.weight), i / columns, i % columns, weight, element.value);
    }
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

std::vector<float> store_codes(FormatWriter& writer, const quench_linear_info& linear,
                               const QuantizeSink& sink, const HostTensor& codes,
                               const HostTensor* dequantized) {
  if (!same_dtype(codes.dtype(), kUInt8) ||
      codes.shape() != std::vector<int64_t>{linear.out_features, linear.in_features}) {
    fail(QUENCH_UNSUPPORTED, "{}: codes are {} {}, wanted U8 [out, in]", linear.name,
         dtype_name(codes.dtype()), shape_text(codes.shape()));
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
                                  bits_of(sink, codes.as<uint8_t>()),
                                  codes.as<uint8_t>().data(),
                                  scales.data(),
                                  zeros.data(),
                                  index.data()};
  std::vector<float> weight = checked_weight(linear, dequantized, [&](size_t i) -> Element {
    const auto columns = static_cast<size_t>(linear.in_features);
    const size_t group =
        i / columns * static_cast<size_t>(groups) + static_cast<size_t>(coded.g_idx[i % columns]);
    return {scales[group] * (coded.codes[i] - zeros[group]),
            scales[group] * static_cast<double>(int64_t{1} << coded.bits)};
  });
  writer.store(coded, weight);
  return weight;
}

std::vector<float> store_codebook(FormatWriter& writer, const quench_linear_info& linear,
                                  const Codebook& codebook, const HostTensor* dequantized) {
  double most = 0;
  for (const double entry : codebook.table) {
    most = std::max(most, std::fabs(entry));
  }
  std::vector<float> weight = checked_weight(linear, dequantized, [&](size_t i) -> Element {
    return {codebook.value(i, linear.in_features),
            std::fabs(codebook.scales[i / static_cast<size_t>(codebook.block)]) * most};
  });
  const std::string module = module_of(linear.weight);
  writer.store(codebook.view(module.c_str(), linear), weight);
  return weight;
}

}  // namespace

void store_layer(FormatWriter& writer, const quench_linear_info& linear, const QuantizeSink& sink,
                 HostTensor& dequantized) {
  if (linear.role != nullptr && std::string_view(linear.role) == "embedding") {
    fail(QUENCH_UNSUPPORTED, "{}: an embedding; files hold codes of linears", linear.name);
  }
  const HostTensor* same = sink.has_op() ? nullptr : &dequantized;
  const auto codes = sink.tensors.find("codes");
  const std::optional<Codebook> codebook = codebook_of(sink, linear);
  if (codes == sink.tensors.end() && !codebook) {
    if (sink.texts.contains("skipped")) {
      return;
    }
    fail(QUENCH_UNSUPPORTED, "{}: the quantizer gives no codes, which a file needs", linear.name);
  }
  const std::vector<float> weight = codebook
                                        ? store_codebook(writer, linear, *codebook, same)
                                        : store_codes(writer, linear, sink, codes->second, same);
  if (!sink.has_op()) {
    copy_weight(weight, dequantized);
  }
}

}  // namespace quench
