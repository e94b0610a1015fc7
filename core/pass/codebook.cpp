#include "core/pass/codebook.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr int64_t kMostEntries = 256;  // indices are bytes

[[noreturn]] void refuse(const quench_linear_info& linear, const char* name,
                         const HostTensor& tensor, const char* wanted) {
  fail(QUENCH_UNSUPPORTED, "{}: {} is {} {}, wanted {}", linear.name, name,
       dtype_name(tensor.dtype()), shape_text(tensor.shape()), wanted);
}

// 2^(byte - 127), as in the scales of MX types (OCP, 2023); 255 stands for no number.
double power_of_two(uint8_t byte) {
  return byte == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, byte - 127);
}

// As float64; bytes are powers of two where those are meant.
std::vector<double> values_of(const HostTensor& tensor, const char* name,
                              const quench_linear_info& linear, bool takes_powers) {
  std::vector<double> out(tensor.elements());
  if (same_dtype(tensor.dtype(), kFloat64)) {
    std::copy_n(tensor.as<double>().begin(), out.size(), out.begin());
  } else if (same_dtype(tensor.dtype(), kFloat32)) {
    std::copy_n(tensor.as<float>().begin(), out.size(), out.begin());
  } else if (takes_powers && same_dtype(tensor.dtype(), kUInt8)) {
    std::transform(tensor.as<uint8_t>().begin(), tensor.as<uint8_t>().end(), out.begin(),
                   power_of_two);
  } else {
    refuse(linear, name, tensor, takes_powers ? "F64, F32, or U8 for powers of two" : "F64 or F32");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i])) {
      fail(QUENCH_UNSUPPORTED, "{}: {}[{}] is not finite", linear.name, name, i);
    }
  }
  return out;
}

int64_t bits_of(const HostTensor& tensor) {
  return static_cast<int64_t>(dtype_size(tensor.dtype()) * 8);
}

// Consecutive weights that share a scale.
int64_t block_of(const QuantizeSink& sink, const HostTensor& scales,
                 const quench_linear_info& linear) {
  const int64_t weights = linear.out_features * linear.in_features;
  const std::vector<int64_t>& shape = scales.shape();
  if (shape.size() == 2 && shape[0] == linear.out_features && shape[1] > 0 &&
      linear.in_features % shape[1] == 0) {
    return linear.in_features / shape[1];
  }
  const auto found = sink.numbers.find("block");
  const double block = found == sink.numbers.end() ? 0 : found->second;
  if (shape.size() == 1 && block >= 1 && block <= static_cast<double>(weights) &&
      block == std::rint(block)) {
    const auto size = static_cast<int64_t>(block);
    if ((weights + size - 1) / size == shape[0]) {
      return size;
    }
  }
  refuse(linear, "scales", scales,
         "[out, groups] whose groups divide a row, or [blocks] with the number `block`, the "
         "weights that share one");
}

void check_indices(const Codebook& codebook, const quench_linear_info& linear) {
  const auto beyond =
      std::find_if(codebook.indices.begin(), codebook.indices.end(),
                   [&](uint8_t index) { return int64_t{index} >= codebook.entries; });
  if (beyond != codebook.indices.end()) {
    const int64_t at = beyond - codebook.indices.begin();
    fail(QUENCH_UNSUPPORTED, "{}: index [{}, {}] is {}, wanted one of the table's {}", linear.name,
         at / linear.in_features, at % linear.in_features, *beyond, codebook.entries);
  }
}

}  // namespace

double Codebook::bits_per_weight() const {
  const auto weights = static_cast<double>(indices.size());
  const int width = std::bit_width(static_cast<uint64_t>(entries - 1));
  return width + static_cast<double>(table.size()) * static_cast<double>(table_bits) / weights +
         static_cast<double>(scales.size()) * static_cast<double>(scale_bits) / weights;
}

quench_codebook_linear Codebook::view(const char* name, const quench_linear_info& linear) const {
  return {.struct_size = sizeof(quench_codebook_linear),
          .scale_type = scale_type,
          .name = name,
          .out = linear.out_features,
          .in = linear.in_features,
          .tables = tables,
          .entries = entries,
          .blocks = static_cast<int64_t>(scales.size()),
          .block = block,
          .indices = indices.data(),
          .table = table.data(),
          .scales = scales.data()};
}

std::optional<Codebook> codebook_of(const QuantizeSink& sink, const quench_linear_info& linear) {
  const auto found = sink.tensors.find("indices");
  if (found == sink.tensors.end() || !sink.tensors.contains("table")) {
    return std::nullopt;
  }
  const HostTensor& indices = found->second;
  if (!same_dtype(indices.dtype(), kUInt8) ||
      indices.shape() != std::vector<int64_t>{linear.out_features, linear.in_features}) {
    refuse(linear, "indices", indices, "U8 [out, in]");
  }
  const HostTensor& table = sink.tensors.at("table");
  const std::vector<int64_t>& shape = table.shape();
  const bool own = shape.size() == 2 && shape[0] == linear.out_features;
  if ((shape.size() != 1 && !own) || shape.back() < 2 || shape.back() > kMostEntries) {
    refuse(linear, "table", table, "[entries] or [out, entries], of 2 to 256 entries");
  }
  const auto scaled = sink.tensors.find("scales");
  if (scaled == sink.tensors.end()) {
    fail(QUENCH_UNSUPPORTED, "{}: the quantizer gives a table and no scales", linear.name);
  }
  const HostTensor& scales = scaled->second;
  Codebook out;
  out.indices = indices.as<uint8_t>();
  out.table = values_of(table, "table", linear, /*takes_powers=*/false);
  out.scales = values_of(scales, "scales", linear, /*takes_powers=*/true);
  out.tables = own ? shape[0] : 1;
  out.entries = shape.back();
  out.block = block_of(sink, scales, linear);
  out.scale_type =
      same_dtype(scales.dtype(), kUInt8) ? QUENCH_SCALES_POWERS_OF_TWO : QUENCH_SCALES_FLOAT;
  out.table_bits = bits_of(table);
  out.scale_bits = bits_of(scales);
  check_indices(out, linear);
  return out;
}

}  // namespace quench
