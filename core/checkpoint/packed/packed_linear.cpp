#include "core/checkpoint/packed/packed_linear.hpp"

#include "core/checkpoint/packed/packed_layouts.hpp"
#include "core/error.hpp"

namespace quench {

const std::vector<std::string_view>& part_endings(PackedFormat format) {
  static const std::vector<std::string_view> kGptq = {".qweight", ".qzeros", ".scales", ".g_idx"};
  static const std::vector<std::string_view> kAwq = {".qweight", ".qzeros", ".scales"};
  static const std::vector<std::string_view> kBytes = {".SCB", ".weight", ".weight_format"};
  static const std::vector<std::string_view> kCompressed = {
      ".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx"};
  switch (format) {
    case PackedFormat::kGptq:
    case PackedFormat::kGptqV2:
      return kGptq;
    case PackedFormat::kAwqGemm:
      return kAwq;
    case PackedFormat::kBitsandbytesInt8:
      return kBytes;
    case PackedFormat::kCompressedTensors:
      return kCompressed;
  }
  fail(QUENCH_INTERNAL, "format {} has no endings", static_cast<int>(format));
}

std::unique_ptr<PackedLinear> open_packed_linear(const std::shared_ptr<const TensorSource>& source,
                                                 const std::string& module,
                                                 const QuantizationConfig& config) {
  PackedParts parts(source, module);
  switch (config.format) {
    case PackedFormat::kGptq:
    case PackedFormat::kGptqV2:
      return open_gptq_linear(std::move(parts), config);
    case PackedFormat::kAwqGemm:
      return open_awq_linear(std::move(parts), config);
    case PackedFormat::kBitsandbytesInt8:
      return open_int8_linear(std::move(parts));
    case PackedFormat::kCompressedTensors:
      return open_compressed_linear(std::move(parts), config);
  }
  fail(QUENCH_INTERNAL, "format {} is not read", static_cast<int>(config.format));
}

}  // namespace quench
