#include "formats/compressed-tensors/float_writer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "formats/compressed-tensors/compressed_config.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/packed/packed_writer.hpp"
#include "formats/packed/scheme.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

using nlohmann::json;
using number_formats::ScaleType;

// The layout whose codes have the width of the table, and whose blocks and scales are of its kind.
const FloatLayout& layout_for(const quench_codebook_linear& linear, const std::string& format) {
  const bool powers = linear.scale_type == QUENCH_SCALES_POWERS_OF_TWO;
  for (const FloatLayout& layout : kFloatLayouts) {
    if (linear.tables == 1 && linear.entries == int64_t{1} << layout.bits() &&
        powers == (layout.scale == ScaleType::kE8M0) &&
        (layout.block == 0 || layout.block == linear.block)) {
      return layout;
    }
  }
  fail(QUENCH_UNSUPPORTED,
       "{}: {} of {} values, {} for blocks of {}; {} holds integers, nvfp4, mxfp4, mxfp6_e2m3, "
       "mxfp8_e4m3 and fp8_e4m3",
       linear.name, linear.tables == 1 ? "a table" : "tables", linear.entries,
       powers ? "powers of two" : "scales", linear.block, format);
}

FloatScheme scheme_of(const quench_codebook_linear& linear, const FloatLayout& layout,
                      const std::string& format) {
  if (layout.block == 0 && linear.block == linear.in) {
    return {&layout, 1, -1};
  }
  if (layout.block == 0 && linear.blocks == 1) {
    return {&layout, -1, -1};
  }
  if (linear.in % linear.block != 0) {
    fail(QUENCH_UNSUPPORTED, "{}: {} input columns; {} wants a multiple of the group size, {}",
         linear.name, linear.in, format, linear.block);
  }
  return {&layout, 1, linear.block};
}

// The code of each entry of the table.
std::vector<uint8_t> codes_of_entries(const quench_codebook_linear& linear,
                                      const FloatLayout& layout) {
  const std::array<float, 256> numbers = numbers_of(layout.element);
  std::vector<uint8_t> codes;
  for (int64_t i = 0; i < linear.entries; ++i) {
    const double entry = linear.table[i];
    const auto* found =
        std::find_if(numbers.begin(), numbers.begin() + linear.entries, [&](float number) {
          return number == entry && std::signbit(number) == std::signbit(entry);
        });
    if (found == numbers.begin() + linear.entries) {
      fail(QUENCH_UNSUPPORTED, "{}: entry {} of the table is {}, which is no number of {}",
           linear.name, i, entry, layout.name);
    }
    codes.push_back(static_cast<uint8_t>(found - numbers.begin()));
  }
  return codes;
}

// The bytes of scales that are a float32 `tensor` times numbers of E4M3; nothing where they are
// not. Both exact: 28 bits of a product fit a float64.
std::optional<std::vector<uint8_t>> bytes_over(std::span<const double> scales, double tensor) {
  if (!(tensor > 0) || static_cast<double>(static_cast<float>(tensor)) != tensor) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes;
  bytes.reserve(scales.size());
  for (const double scale : scales) {
    const uint8_t byte = number_formats::encode(number_formats::kE4M3, scale / tensor);
    if (number_formats::decode(number_formats::kE4M3, byte) * tensor != scale) {
      return std::nullopt;
    }
    bytes.push_back(byte);
  }
  return bytes;
}

// Scales as the file holds them.
struct FileScales {
  std::vector<uint8_t> bytes;  // of E8M0 and E4M3
  std::vector<float> values;   // [blocks], what readers multiply by
  float global = 1;            // of two levels
};

// The largest scale is the tensor's times some number of E4M3, nearly always the largest.
FileScales two_levels(const quench_codebook_linear& linear, bool all_zero) {
  const std::span<const double> scales(linear.scales, static_cast<size_t>(linear.blocks));
  const double largest = *std::max_element(scales.begin(), scales.end());
  FileScales out;
  double tensor = 0;
  for (int code = number_formats::kE4M3.largest_code(); code > 0 && out.bytes.empty(); --code) {
    tensor = largest / number_formats::decode(number_formats::kE4M3, static_cast<uint8_t>(code));
    out.bytes = bytes_over(scales, tensor).value_or(std::vector<uint8_t>());
  }
  if (out.bytes.empty()) {
    fail(QUENCH_UNSUPPORTED,
         "{}: its scales are no float32 of the weight times numbers of E4M3, as nvfp4 has them",
         linear.name);
  }
  out.global = all_zero ? 1.0F : static_cast<float>(1 / tensor);
  if (!std::isfinite(out.global) || out.global == 0) {
    fail(QUENCH_NUMERICAL, "{}: one over the scale of the weight, {}, is beyond float32",
         linear.name, tensor);
  }
  for (const uint8_t byte : out.bytes) {
    out.values.push_back(two_level_scale(byte, out.global));
  }
  return out;
}

FileScales scales_of(const quench_codebook_linear& linear, const FloatLayout& layout,
                     bool all_zero) {
  if (layout.scale == ScaleType::kTwoLevel) {
    return two_levels(linear, all_zero);
  }
  FileScales out;
  for (int64_t i = 0; i < linear.blocks; ++i) {
    out.values.push_back(static_cast<float>(linear.scales[i]));
    if (!std::isfinite(out.values.back())) {
      fail(QUENCH_NUMERICAL, "{}: scale {} is beyond float32", linear.name, linear.scales[i]);
    }
    if (layout.scale == ScaleType::kE8M0) {
      out.bytes.push_back(
          static_cast<uint8_t>(std::ilogb(linear.scales[i]) + number_formats::kE8M0Bias));
    }
  }
  return out;
}

void put_codes(const quench_codebook_linear& linear, const FloatLayout& layout,
               const std::vector<uint8_t>& codes, const kit::FormatSink& sink) {
  const std::string module = std::string(linear.name) + ".";
  if (!layout.is_packed()) {
    sink.tensor(module + "weight", kFloat8E4M3, {linear.out, linear.in}, codes.data());
    return;
  }
  // A block has a multiple of 32 bits, so that rows begin with a word.
  std::vector<uint32_t> words(words_for(codes.size(), layout.bits(), CodeOrder::kStream));
  pack_codes(codes.data(), 1, codes.size(), layout.bits(), CodeOrder::kStream, words.data(), 1);
  sink.tensor(module + "weight_packed", kUInt8, {linear.out, linear.in * layout.bits() / 8},
              words.data());
}

void put_scales(const quench_codebook_linear& linear, const FloatScheme& scheme,
                const FileScales& scales, const kit::FormatSink& sink) {
  const std::string module = std::string(linear.name) + ".";
  const std::vector<int64_t> shape =
      scheme.is_whole() ? std::vector<int64_t>{1}
                        : std::vector<int64_t>{linear.out, linear.in / linear.block};
  switch (scheme.layout->scale) {
    case ScaleType::kE8M0:
      sink.tensor(module + "weight_scale", kUInt8, shape, scales.bytes.data());
      break;
    case ScaleType::kTwoLevel:
      sink.tensor(module + "weight_scale", kFloat8E4M3, shape, scales.bytes.data());
      sink.tensor(module + "weight_global_scale", kFloat32, {1}, &scales.global);
      break;
    case ScaleType::kFloat32:
      sink.tensor(module + "weight_scale", kFloat32, shape, scales.values.data());
  }
}

json weights_of(const FloatScheme& scheme) {
  const bool two_levels = scheme.layout->scale == ScaleType::kTwoLevel;
  const char* grouped = two_levels ? "tensor_group" : "group";
  const char* whole = scheme.is_whole() ? "tensor" : "channel";
  json out = {{"num_bits", scheme.layout->bits()},
              {"type", "float"},
              {"symmetric", true},
              {"strategy", scheme.columns == -1 ? whole : grouped},
              {"group_size", scheme.columns == -1 ? json() : json(scheme.columns)},
              {"dynamic", false}};
  if (scheme.layout->scale != ScaleType::kFloat32) {
    out["scale_dtype"] = two_levels ? "torch.float8_e4m3fn" : "torch.uint8";
  }
  return out;
}

}  // namespace

void FloatWriter::store(const quench_codebook_linear& linear, const kit::FormatSink& sink,
                        std::span<float> weight, quench_stored_linear& stored) {
  const FloatLayout& layout = layout_for(linear, format_);
  const FloatScheme scheme = scheme_of(linear, layout, format_);
  const std::vector<uint8_t> of_entry = codes_of_entries(linear, layout);
  const std::array<float, 256> numbers = numbers_of(layout.element);
  std::vector<uint8_t> codes(weight.size());
  std::transform(linear.indices, linear.indices + codes.size(), codes.begin(),
                 [&](uint8_t index) { return of_entry[index]; });
  const bool all_zero =
      std::all_of(codes.begin(), codes.end(), [&](uint8_t code) { return numbers[code] == 0; });
  const FileScales scales = scales_of(linear, layout, all_zero);
  for (size_t i = 0; i < codes.size(); ++i) {
    weight[i] = numbers[codes[i]] * scales.values[i / static_cast<size_t>(linear.block)];
  }
  stored.scales = scales.values.size();
  for (size_t i = 0; i < scales.values.size() && !all_zero; ++i) {  // of zeros any scale will do
    note_change(stored, linear.scales[i], scales.values[i]);
  }
  put_codes(linear, layout, codes, sink);
  put_scales(linear, scheme, scales, sink);
  first_ = first_.empty() ? linear.name : first_;
  linears_.push_back({linear.name, linear.in, scheme});
}

void FloatWriter::finish(const kit::FloatLinears& left, const kit::FormatSink& sink) const {
  const FloatScheme scheme = common_scheme();
  sink.config(written_config(scheme.layout->name, weights_of(scheme), left));
  Scheme told;
  told.bits = scheme.layout->bits();
  told.group_size = scheme.columns;
  told.layout = scheme.layout->name;
  sink.quantization(scheme_json(told));
}

// A linear of one group may have its row's length for the size of groups, which others tell.
FloatScheme FloatWriter::common_scheme() const {
  const Stored* sized = nullptr;
  for (const Stored& linear : linears_) {
    if (linear.scheme.columns != -1 && sized == nullptr) {
      sized = &linear;
    }
  }
  const Stored& teller = sized != nullptr ? *sized : linears_.front();
  for (const Stored& linear : linears_) {
    FloatScheme own = linear.scheme;
    if (sized != nullptr && own.rows == 1 && own.columns == -1) {
      own.columns = linear.in;
    }
    if (own != teller.scheme) {
      fail(QUENCH_UNSUPPORTED, "{} and {} differ in their formats or groups; {} holds one",
           teller.name, linear.name, format_);
    }
  }
  return teller.scheme;
}

}  // namespace quench::formats
