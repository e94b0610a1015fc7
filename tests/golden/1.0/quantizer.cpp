// golden_quantizer: absolute-maximum rounding, the simplest weight quantizer.
//
// | parameter  | type | default | range  | meaning                                             |
// |------------|------|---------|--------|-----------------------------------------------------|
// | bits       | int  | 4       | 2 .. 8 | bits per code                                        |
// | group_size | int  | 128     | >= 0   | input columns that share a scale; 0: the whole row  |
//
//   quantizers:
//     - golden_quantizer: {bits: 4, group_size: 128}
//
// Per group of a row: scale = max|w| / (2^(bits-1) − 1), code = round(w / scale) + 2^(bits-1).
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;
namespace {

class GoldenQuantizer final : public kit::Quantizer {
 public:
  struct Params {
    int64_t bits = 4;
    int64_t group_size = 128;
    static void describe(kit::Fields<Params>& f) {
      f.add("bits", &Params::bits, "bits per code").range(2, 8);
      f.add("group_size", &Params::group_size, "columns that share a scale; 0: the whole row")
          .at_least(0);
    }
  };
  explicit GoldenQuantizer(const Params& params) : params_(params) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>(params_);
  }

 private:
  // This method derives nothing from a group's input, so its state is only the parameters.
  class Group final : public kit::QuantizerGroup {
   public:
    explicit Group(const Params& params) : params_(params) {}
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override;

   private:
    Params params_;
  };
  Params params_;
};

void GoldenQuantizer::Group::quantize(const kit::LinearToQuantize& linear,
                                      kit::QuantizeSink& sink) {
  const int64_t out = linear.info.out_features;
  const int64_t in = linear.info.in_features;
  const int64_t size = params_.group_size == 0 ? in : std::min(params_.group_size, in);
  const int64_t groups = (in + size - 1) / size;  // the last group may be shorter
  const std::vector<double> weight = kit::to_doubles(linear.weight, linear.info.weight);
  std::vector<double> dequantized(weight.size());
  const auto codes = sink.tensor<uint8_t>("codes", {out, in});
  const auto scales = sink.tensor<float>("scales", {out, groups});
  const auto zeros = sink.tensor<float>("zeros", {out, groups});
  const auto g_idx = sink.tensor<int32_t>("g_idx", {in});
  const double zero = std::ldexp(1.0, static_cast<int>(params_.bits) - 1);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t first = o * in + g * size;
      const int64_t end = std::min(first + size, (o + 1) * in);
      double largest = 0;
      for (int64_t i = first; i < end; ++i) {
        if (!std::isfinite(weight[i])) {
          kit::fail(QUENCH_NUMERICAL, "%s: a weight is %g", linear.info.weight, weight[i]);
        }
        largest = std::max(largest, std::fabs(weight[i]));
      }
      const float scale = scales[o * groups + g] = static_cast<float>(largest / (zero - 1));
      zeros[o * groups + g] = static_cast<float>(zero);
      for (int64_t i = first; i < end; ++i) {
        const double steps = scale == 0 ? 0 : std::rint(weight[i] / scale);
        const double step = std::clamp(steps, -zero, zero - 1);
        codes[i] = static_cast<uint8_t>(step + zero);
        dequantized[i] = step * scale;
        g_idx[i - o * in] = static_cast<int32_t>(g);
      }
    }
  }
  kit::from_doubles(dequantized, linear.dequantized, linear.info.weight);
  // Scales are stored as float32. The zero is constant and is not stored.
  const double scale_bits = 32.0 * static_cast<double>(groups) / static_cast<double>(in);
  sink.number("bits_per_weight", static_cast<double>(params_.bits) + scale_bits);
}

}  // namespace

QUENCH_MODULE("golden_quantizer", "0.1.0",
              kit::quantizer<GoldenQuantizer>(
                  {.id = "golden_quantizer",
                   .version = "0.1.0",
                   .summary = "Absolute-maximum rounding to nearest, per group of input columns.",
                   .example = "{bits: 4, group_size: 128}"}))
