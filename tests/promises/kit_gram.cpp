// kit_gram: a quantizer without libtorch that uses the Gram matrix which the kit sums. Of ten
// scales each row gets the one whose outputs on the calibration rows are best.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "quench/kit/gram.hpp"
#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

struct NoParams {
  static void describe(kit::Fields<NoParams>&) {}
};

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

class GramScaled final : public kit::GramGroup {
 public:
  explicit GramScaled(int64_t in) : GramGroup(in) {}
  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    constexpr double kMiddle = 8;  // of 4 bits
    require_rows();
    const std::vector<double> weight = finite_weight(linear);
    const int64_t out = linear.info.out_features;
    const auto in = static_cast<size_t>(linear.info.in_features);
    const auto codes = sink.tensor<uint8_t>("codes", {out, linear.info.in_features});
    const auto scales = sink.tensor<double>("scales", {out, 1});
    const auto zeros = sink.tensor<double>("zeros", {out, 1});
    std::vector<double> dequantized(weight.size());
    for (size_t row = 0; row < static_cast<size_t>(out); ++row) {
      const std::span<const double> w(weight.data() + row * in, in);
      double largest = 0;
      for (const double value : w) {
        largest = std::max(largest, std::fabs(value));
      }
      double best = -1;
      for (int shrink = 0; shrink < 10; ++shrink) {
        const double scale = largest / (kMiddle - 1) * (1 - 0.05 * shrink);
        std::vector<double> tried(in);
        for (size_t i = 0; i < in; ++i) {
          const double step = scale == 0 ? 0 : std::rint(w[i] / scale);
          tried[i] = std::clamp(step, -kMiddle, kMiddle - 1) * scale;
        }
        const double error = output_error(w, tried).squared;
        if (best < 0 || error < best) {
          best = error;
          scales[row] = scale;
          std::copy(tried.begin(), tried.end(),
                    dequantized.begin() + static_cast<ptrdiff_t>(row * in));
        }
      }
      zeros[row] = kMiddle;
      for (size_t i = row * in; i < (row + 1) * in; ++i) {
        const double step = scales[row] == 0 ? 0 : std::rint(dequantized[i] / scales[row]);
        codes[i] = static_cast<uint8_t>(step + kMiddle);
      }
    }
    kit::from_doubles(dequantized, linear.dequantized, linear.info.weight);
    sink.number("bits_per_weight", 4 + 64.0 / static_cast<double>(in));
  }
};

class Gram final : public kit::Quantizer {
 public:
  using Params = NoParams;
  explicit Gram(const Params&) {}
  uint32_t needs() const override { return QUENCH_NEEDS_ROWS; }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override {
    return std::make_unique<GramScaled>(group.in_features);
  }
  static void add_functions(quench_quantizer_table& table) { kit::add_gram_functions(table); }
};

}  // namespace

QUENCH_MODULE("kit_gram", "0.1.0",
              kit::quantizer<Gram>({.id = "kit_gram",
                                    .version = "0.1.0",
                                    .summary = "4 bits with the best of ten scales for the "
                                               "outputs."}))
