// A quantized linear as the tensors of a file format, and the weight that a reader gets back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/packed/quantization_config.hpp"
#include "quench/abi/tensor.h"

namespace quench {

// What a quantizer made of a weight: scales[:, g_idx] · (codes − zeros[:, g_idx]).
struct CodedLinear {
  std::string name;  // of the module
  int64_t out = 0;
  int64_t in = 0;
  int64_t groups = 0;
  int64_t bits = 0;
  std::span<const uint8_t> codes;  // [out, in]
  std::span<const double> scales;  // [out, groups]
  std::span<const double> zeros;   // [out, groups]
  std::span<const int32_t> g_idx;  // [in]
};

struct PackedTensor {
  std::string name;
  quench_dtype dtype{};
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

struct StoredLinear {
  std::string name;
  std::vector<PackedTensor> tensors;
  // The format's scheme as this linear has it: bits, size of its groups (-1: one), symmetric,
  // ordered.
  QuantizationConfig scheme;
  int64_t in = 0;
  std::vector<float> weight;  // [out, in], with the bits that reading the tensors gives
  // Scales lose digits where a format holds them as float16. Codes stay what they were.
  uint64_t rounded_scales = 0;
  uint64_t scales = 0;
  double largest_change = 0;  // of a scale, relative
};

// Why `format` cannot hold weights of this kind, or "". `group_size` -1: whole rows. Each is told
// by what it is: "3 bits; awq holds 4".
std::string scheme_fault(PackedFormat format, int64_t bits, int64_t group_size, bool symmetric,
                         bool ordered);
// Why it cannot hold a weight of this shape, or "".
std::string shape_fault(PackedFormat format, int64_t bits, int64_t group_size, int64_t out,
                        int64_t in);

// Packs the codes as they are; scales become float16 (float32 for bnb_int8), rounded to nearest.
// Throws Error: UNSUPPORTED, naming the linear, for what the format cannot hold, NUMERICAL for a
// scale that float16 cannot.
StoredLinear store_linear(PackedFormat format, const CodedLinear& linear);

// The quantization_config of a config.json. `scheme`: of all linears. `left_float`: modules that
// are not quantized, beside embeddings and norms. Throws Error(INTERNAL).
nlohmann::json quantization_config_of(const QuantizationConfig& scheme,
                                      const std::vector<std::string>& left_float,
                                      bool quantized_head);

// The scheme that all linears have in common. Throws Error(UNSUPPORTED), naming two that differ.
QuantizationConfig common_scheme(const std::vector<StoredLinear>& linears);

// Drops the tensors that files of this scheme do not have: compressed-tensors stores the groups of
// columns for all linears or for none, which is known when the last one is quantized.
void drop_unused(const QuantizationConfig& scheme, std::vector<StoredLinear>& linears);

}  // namespace quench
