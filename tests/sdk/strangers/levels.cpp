// levels: a few values for each row of a weight, where Lloyd's iterations put them, and for each
// weight which of them it is.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

struct Params {
  int64_t values = 16;
  int64_t iterations = 10;
  static void describe(kit::Fields<Params>& f) {
    f.add("values", &Params::values, "of each row").range(2, 16);
    f.add("iterations", &Params::iterations, "that move the values").range(0, 1000);
  }
};

size_t nearest(const std::vector<float>& values, double weight) {
  const auto closer = [weight](float a, float b) {
    return std::fabs(a - weight) < std::fabs(b - weight);
  };
  return static_cast<size_t>(std::min_element(values.begin(), values.end(), closer) -
                             values.begin());
}

// Begins at even ranks of the sorted row; a value that is nearest to no weight stays where it is.
std::vector<float> levels_of(std::vector<double> row, const Params& params) {
  std::sort(row.begin(), row.end());
  std::vector<float> values;
  for (int64_t v = 0; v < params.values; ++v) {
    const auto rank =
        static_cast<size_t>((2 * v + 1) * static_cast<int64_t>(row.size()) / (2 * params.values));
    values.push_back(static_cast<float>(row[rank]));
  }
  for (int64_t i = 0; i < params.iterations; ++i) {
    std::vector<double> sums(values.size());
    std::vector<double> counts(values.size());
    for (const double weight : row) {
      const size_t value = nearest(values, weight);
      sums[value] += weight;
      counts[value] += 1;
    }
    for (size_t v = 0; v < values.size(); ++v) {
      values[v] = counts[v] > 0 ? static_cast<float>(sums[v] / counts[v]) : values[v];
    }
  }
  return values;
}

class Group final : public kit::QuantizerGroup {
 public:
  explicit Group(const Params& params) : params_(params) {}

  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    const int64_t out = linear.info.out_features;
    const int64_t in = linear.info.in_features;
    std::vector<double> weight = kit::to_doubles(linear.weight, linear.info.weight);
    const auto indices = sink.tensor<uint8_t>("indices", {out, in});
    const auto table = sink.tensor<float>("table", {out, params_.values});
    const auto scales = sink.tensor<float>("scales", {out, 1});
    std::fill(scales.begin(), scales.end(), 1.0F);
    for (int64_t o = 0; o < out; ++o) {
      const auto row = weight.begin() + o * in;
      if (!std::all_of(row, row + in, [](double w) { return std::isfinite(w); })) {
        kit::fail(QUENCH_NUMERICAL, "%s: row %lld has a weight that is not finite",
                  linear.info.weight, static_cast<long long>(o));
      }
      const std::vector<float> values = levels_of({row, row + in}, params_);
      std::copy(values.begin(), values.end(), table.begin() + o * params_.values);
      for (int64_t i = o * in; i < (o + 1) * in; ++i) {
        const size_t value = nearest(values, weight[i]);
        indices[i] = static_cast<uint8_t>(value);
        weight[i] = values[value];
      }
    }
    kit::from_doubles(weight, linear.dequantized, linear.info.weight);
  }

 private:
  Params params_;
};

class Levels final : public kit::Quantizer {
 public:
  using Params = ::Params;
  explicit Levels(const Params& params) : params_(params) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>(params_);
  }

 private:
  Params params_;
};

}  // namespace

QUENCH_MODULE("levels", "0.1.0",
              kit::quantizer<Levels>({.id = "levels",
                                      .version = "0.1.0",
                                      .summary = "A few values for each row, by Lloyd.",
                                      .example = "{values: 16}"}))
