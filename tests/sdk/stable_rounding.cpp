// stable_rounding: rounding to nearest with one scale for each row, whose largest weight libtorch
// finds through the functions that it keeps from version to version.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "quench/kit/quantizer.hpp"
#include "quench/kit/torch_stable.hpp"

namespace kit = quench::kit;
namespace {

class StableRounding final : public kit::Quantizer {
 public:
  struct Params {
    int64_t bits = 4;
    static void describe(kit::Fields<Params>& f) {
      f.add("bits", &Params::bits, "bits per code").range(2, 8);
    }
  };
  explicit StableRounding(const Params& params) : bits_(params.bits) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>(bits_);
  }

 private:
  class Group final : public kit::QuantizerGroup {
   public:
    explicit Group(int64_t bits) : bits_(bits) {}
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
      const int64_t out = linear.info.out_features;
      const int64_t in = linear.info.in_features;
      const std::vector<double> weight = kit::to_doubles(linear.weight, linear.info.weight);
      std::vector<double> sizes(weight.size());
      for (size_t i = 0; i < weight.size(); ++i) {
        if (!std::isfinite(weight[i])) {
          kit::fail(QUENCH_NUMERICAL, "%s: a weight is %g", linear.info.weight, weight[i]);
        }
        sizes[i] = std::fabs(weight[i]);
      }
      const int64_t shape[] = {out, in};
      const quench_tensor view = {
          sizes.data(), {QUENCH_DEVICE_CPU, 0}, 2, kit::kFloat64, shape, nullptr, 0};
      const auto largest = torch::stable::amax(kit::stable_tensor(view), 1);
      const auto* most = static_cast<const double*>(largest.data_ptr());
      std::vector<double> dequantized(weight.size());
      const auto codes = sink.tensor<uint8_t>("codes", {out, in});
      const auto scales = sink.tensor<double>("scales", {out, 1});
      const auto zeros = sink.tensor<double>("zeros", {out, 1});
      const auto g_idx = sink.tensor<int32_t>("g_idx", {in});
      const double zero = std::ldexp(1.0, static_cast<int>(bits_) - 1);
      for (int64_t o = 0; o < out; ++o) {
        scales[o] = most[o] / (zero - 1);
        zeros[o] = zero;
        for (int64_t i = 0; i < in; ++i) {
          const double step = scales[o] == 0 ? 0 : std::rint(weight[o * in + i] / scales[o]);
          codes[o * in + i] = static_cast<uint8_t>(step + zero);
          dequantized[o * in + i] = step * scales[o];
          g_idx[i] = 0;
        }
      }
      kit::from_doubles(dequantized, linear.dequantized, linear.info.weight);
      sink.number("bits_per_weight", static_cast<double>(bits_) + 64.0 / static_cast<double>(in));
    }

   private:
    int64_t bits_;
  };
  int64_t bits_;
};

}  // namespace

QUENCH_MODULE(
    "stable_rounding", "0.1.0",
    kit::quantizer<StableRounding>({.id = "stable_rounding",
                                    .version = "0.1.0",
                                    .summary = "Rounding to nearest, one scale for each row.",
                                    .example = "{bits: 4}"}))
