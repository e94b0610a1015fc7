// ternary: weights of -s, 0 and s, where s is the mean of |w| over `group_size` columns of a row.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

struct Params {
  int64_t group_size = 16;
  static void describe(kit::Fields<Params>& f) {
    f.add("group_size", &Params::group_size, "columns that share a scale").range(1, 4096);
  }
};

class Group final : public kit::QuantizerGroup {
 public:
  explicit Group(int64_t size) : size_(size) {}

  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    const int64_t out = linear.info.out_features;
    const int64_t in = linear.info.in_features;
    const int64_t groups = (in + size_ - 1) / size_;
    std::vector<double> weight = kit::to_doubles(linear.weight, linear.info.weight);
    const auto codes = sink.tensor<uint8_t>("codes", {out, in});
    const auto scales = sink.tensor<float>("scales", {out, groups});
    const auto zeros = sink.tensor<float>("zeros", {out, groups});
    const auto g_idx = sink.tensor<int32_t>("g_idx", {in});
    std::fill(zeros.begin(), zeros.end(), 1.0F);
    for (int64_t column = 0; column < in; ++column) {
      g_idx[column] = static_cast<int32_t>(column / size_);
    }
    for (int64_t at = 0; at < out * groups; ++at) {
      const int64_t first = at / groups * in + at % groups * size_;
      const int64_t end = std::min(first + size_, (at / groups + 1) * in);
      double sum = 0;
      for (int64_t i = first; i < end; ++i) {
        sum += std::fabs(weight[i]);
      }
      if (!std::isfinite(sum)) {
        kit::fail(QUENCH_NUMERICAL, "%s: a weight is not finite", linear.info.weight);
      }
      scales[at] = static_cast<float>(sum / static_cast<double>(end - first));
      for (int64_t i = first; i < end; ++i) {
        const double step = scales[at] == 0 ? 0 : std::rint(weight[i] / scales[at]);
        const double kept = std::clamp(step, -1.0, 1.0);
        codes[i] = static_cast<uint8_t>(kept + 1);
        weight[i] = kept * scales[at];
      }
    }
    kit::from_doubles(weight, linear.dequantized, linear.info.weight);
    sink.number("bits_per_weight",
                2.0 + 32.0 * static_cast<double>(groups) / static_cast<double>(in));
  }

 private:
  int64_t size_;
};

class Ternary final : public kit::Quantizer {
 public:
  using Params = ::Params;
  explicit Ternary(const Params& params) : size_(params.group_size) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>(size_);
  }

 private:
  int64_t size_;
};

}  // namespace

QUENCH_MODULE("ternary", "0.1.0",
              kit::quantizer<Ternary>({.id = "ternary",
                                       .version = "0.1.0",
                                       .summary = "Three values for each group of columns.",
                                       .example = "{group_size: 16}"}))
