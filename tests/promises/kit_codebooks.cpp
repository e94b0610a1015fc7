// Quantizers whose weights are looked up, and a format that holds one of them.
//
// kit_mx: the 4-bit floats of OCP MX (E2M1) in blocks of 32, each with a power of two as its scale
// (E8M0). kit_rows: sixteen values for each row, evenly spread over its range.
//
// kit_mxfp4, the format: of linear M the tensors M.weight_packed, uint8 [out, in / 2], two E2M1 in
// a byte, the first in the low bits, and M.weight_scale, uint8 [out, in / 32], E8M0.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quench/kit/format.hpp"
#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

struct NoParams {
  static void describe(kit::Fields<NoParams>&) {}
};

constexpr int64_t kBlock = 32;
constexpr std::array<float, 16> kE2m1 = {0,     .5F,  1,  1.5F,  2,  3,  4,  6,
                                         -0.0F, -.5F, -1, -1.5F, -2, -3, -4, -6};

std::vector<double> finite_weight(const kit::LinearToQuantize& linear) {
  std::vector<double> weight = kit::to_doubles(linear.weight, linear.info.weight);
  const auto in = static_cast<size_t>(linear.info.in_features);
  for (size_t i = 0; i < weight.size(); ++i) {
    if (!std::isfinite(weight[i])) {
      kit::fail(QUENCH_NUMERICAL, "%s: row %zu, column %zu is %g", linear.info.name, i / in, i % in,
                weight[i]);
    }
  }
  return weight;
}

size_t nearest(const std::vector<float>& table, size_t first, size_t entries, double value) {
  size_t best = 0;
  for (size_t e = 1; e < entries; ++e) {
    if (std::fabs(table[first + e] - value) < std::fabs(table[first + best] - value)) {
      best = e;
    }
  }
  return best;
}

class MxGroup final : public kit::QuantizerGroup {
 public:
  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    const std::vector<float> values(kE2m1.begin(), kE2m1.end());
    const std::vector<double> weight = finite_weight(linear);
    const auto count = static_cast<int64_t>(weight.size());
    const auto indices =
        sink.tensor<uint8_t>("indices", {linear.info.out_features, linear.info.in_features});
    const auto table = sink.tensor<float>("table", {16});
    const auto scales = sink.tensor<uint8_t>("scales", {(count + kBlock - 1) / kBlock});
    std::copy(values.begin(), values.end(), table.begin());
    std::vector<double> dequantized(weight.size());
    for (int64_t first = 0; first < count; first += kBlock) {
      const int64_t end = std::min(first + kBlock, count);
      double largest = 0;
      for (int64_t i = first; i < end; ++i) {
        largest = std::max(largest, std::fabs(weight[static_cast<size_t>(i)]));
      }
      // The largest value of a block comes to 4..8, of which E2M1 holds up to 6.
      const int power = largest == 0 ? 0 : std::clamp(std::ilogb(largest) - 2, -127, 127);
      scales[static_cast<size_t>(first / kBlock)] = static_cast<uint8_t>(power + 127);
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(end); ++i) {
        const size_t index = nearest(values, 0, values.size(), std::ldexp(weight[i], -power));
        indices[i] = static_cast<uint8_t>(index);
        dequantized[i] = std::ldexp(values[index], power);
      }
    }
    sink.number("block", kBlock);
    kit::from_doubles(dequantized, linear.dequantized, linear.info.weight);
  }
};

class RowsGroup final : public kit::QuantizerGroup {
 public:
  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    constexpr size_t kEntries = 16;
    const std::vector<double> weight = finite_weight(linear);
    const int64_t out = linear.info.out_features;
    const auto in = static_cast<size_t>(linear.info.in_features);
    const auto indices = sink.tensor<uint8_t>("indices", {out, linear.info.in_features});
    const auto table = sink.tensor<float>("table", {out, kEntries});
    const auto scales = sink.tensor<float>("scales", {out, 1});
    std::vector<double> dequantized(weight.size());
    for (size_t row = 0; row < static_cast<size_t>(out); ++row) {
      const auto [low, high] =
          std::minmax_element(weight.begin() + static_cast<ptrdiff_t>(row * in),
                              weight.begin() + static_cast<ptrdiff_t>((row + 1) * in));
      std::vector<float> values(kEntries);
      for (size_t e = 0; e < kEntries; ++e) {
        values[e] = static_cast<float>(*low + (*high - *low) * static_cast<double>(e) / 15);
      }
      std::copy(values.begin(), values.end(),
                table.begin() + static_cast<ptrdiff_t>(row * kEntries));
      scales[row] = 1;
      for (size_t i = row * in; i < (row + 1) * in; ++i) {
        const size_t index = nearest(values, 0, kEntries, weight[i]);
        indices[i] = static_cast<uint8_t>(index);
        dequantized[i] = values[index];
      }
    }
    kit::from_doubles(dequantized, linear.dequantized, linear.info.weight);
  }
};

template <typename Group>
class Plain final : public kit::Quantizer {
 public:
  using Params = NoParams;
  explicit Plain(const Params&) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>();
  }
};

// The weights of kit_mx as a file has them.
class Mxfp4Opened final : public kit::Checkpoint {
 public:
  explicit Mxfp4Opened(const kit::Place& place) : base_(place.tensors()) {
    for (uint64_t i = 0; i < base_.count(); ++i) {
      const quench_tensor_info info = base_.info(i);
      const std::string name = info.name;
      const uint64_t own = tensors().size();
      if (name.ends_with("_packed")) {
        const std::string weight = name.substr(0, name.size() - std::string("_packed").size());
        const std::optional<uint64_t> scale = base_.find(weight + "_scale");
        if (!scale || info.dimensions != 2 || base_.info(*scale).dimensions != 2 ||
            base_.info(*scale).shape[1] * kBlock != info.shape[1] * 2) {
          kit::fail(QUENCH_DATA_LOSS, "%s: wanted a scale for each %lld values", info.name,
                    static_cast<long long>(kBlock));
        }
        linears_[own] = {i, *scale};
        add({weight, kit::kFloat32, {info.shape[0], info.shape[1] * 2}, own});
      } else if (!name.ends_with("_scale")) {
        linears_[own] = {i, i};
        add({name, info.dtype, {info.shape, info.shape + info.dimensions}, own});
      }
    }
    set_quantization(R"({"writer": "kit_mxfp4"})");
  }

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    const auto [packed, scale] = linears_.at(index);
    if (packed == scale) {
      return base_.read(packed, first, elements, destination);
    }
    const auto covering = [&](uint64_t tensor, uint64_t each) {
      std::vector<uint8_t> bytes((first + elements - 1) / each - first / each + 1);
      base_.read(tensor, first / each, bytes.size(), bytes.data());
      return bytes;
    };
    const std::vector<uint8_t> pairs = covering(packed, 2);
    const std::vector<uint8_t> powers = covering(scale, kBlock);
    auto* out = static_cast<float*>(destination);
    for (uint64_t i = first; i < first + elements; ++i) {
      const uint8_t pair = pairs[i / 2 - first / 2];
      out[i - first] = std::ldexp(kE2m1[i % 2 == 0 ? pair & 15 : pair >> 4],
                                  powers[i / kBlock - first / kBlock] - 127);
    }
  }

 private:
  kit::Source base_;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> linears_;  // by tensor: packed and scale
};

class Mxfp4Writer final : public kit::FormatWriter {
 public:
  void store(const quench_coded_linear& linear, const kit::FormatSink&, std::span<float>,
             quench_stored_linear&) override {
    kit::fail(QUENCH_UNSUPPORTED, "%s: integer codes; kit_mxfp4 holds 4-bit floats", linear.name);
  }
  void store_codebook(const quench_codebook_linear& linear, const kit::FormatSink& sink,
                      std::span<float>, quench_stored_linear& stored) override {
    if (linear.scale_type != QUENCH_SCALES_POWERS_OF_TWO || linear.block != kBlock ||
        linear.tables != 1 || linear.entries != 16 ||
        !std::equal(kE2m1.begin(), kE2m1.end(), linear.table)) {
      kit::fail(QUENCH_UNSUPPORTED, "%s: kit_mxfp4 holds E2M1 in blocks of 32", linear.name);
    }
    std::vector<uint8_t> packed(static_cast<size_t>(linear.out * linear.in / 2));
    for (size_t i = 0; i < packed.size(); ++i) {
      packed[i] = static_cast<uint8_t>(linear.indices[2 * i] | (linear.indices[2 * i + 1] << 4));
    }
    std::vector<uint8_t> powers(static_cast<size_t>(linear.blocks));
    std::transform(linear.scales, linear.scales + linear.blocks, powers.begin(),
                   [](double scale) { return static_cast<uint8_t>(std::ilogb(scale) + 127); });
    stored.scales = powers.size();
    const std::string weight = linear.name + std::string(".weight");
    sink.tensor(weight + "_packed", kit::kUInt8, {linear.out, linear.in / 2}, packed.data());
    sink.tensor(weight + "_scale", kit::kUInt8, {linear.out, linear.in / kBlock}, powers.data());
  }
  void finish(const kit::FloatLinears&, const kit::FormatSink& sink) override {
    sink.config(R"({"quantization_config": {"quant_method": "kit_mxfp4"}})");
    sink.quantization(R"({"writer": "kit_mxfp4"})");
  }
};

struct Mxfp4 {
  using Params = ::NoParams;

  static int32_t probe(const kit::Place& place, std::string&) {
    if (place.config().empty()) {
      return 0;
    }
    const kit::Json config(place.config().data(), place.config().size());
    return config.string_or("/quantization_config/quant_method", "") == "kit_mxfp4" ? 100 : 0;
  }
  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    return std::make_unique<Mxfp4Opened>(place);
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t, int64_t in) {
    if (scheme.bits != 0) {
      return "integer codes; kit_mxfp4 holds 4-bit floats";
    }
    return in % kBlock == 0 ? "" : std::to_string(in) + " columns; kit_mxfp4 holds multiples of 32";
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<Mxfp4Writer>();
  }
};

}  // namespace

QUENCH_MODULE("kit_codebooks", "0.1.0",
              kit::quantizer<Plain<MxGroup>>({.id = "kit_mx",
                                              .version = "0.1.0",
                                              .summary = "4-bit floats in blocks of 32 with powers "
                                                         "of two as scales."}),
              kit::quantizer<Plain<RowsGroup>>({.id = "kit_rows",
                                                .version = "0.1.0",
                                                .summary = "Sixteen values for each row."}),
              kit::format<Mxfp4>({.id = "kit_mxfp4",
                                  .version = "0.1.0",
                                  .summary = "E2M1 in blocks of 32 with E8M0 scales."}))
