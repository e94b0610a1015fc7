// outliers: the largest weight of all parameters, in root mean squares of its own tensor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "quench/kit/metric.hpp"

namespace kit = quench::kit;

namespace {

class Outliers final : public kit::Metric {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit Outliers(const Params&) {}

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    double largest = 0;
    for (const quench_parameter_info& parameter : evaluation.parameters()) {
      const std::vector<double> weight = evaluation.weight(parameter);
      double squares = 0;
      double most = 0;
      for (const double w : weight) {
        squares += w * w;
        most = std::max(most, std::fabs(w));
      }
      if (squares > 0) {
        largest = std::max(largest, most / std::sqrt(squares / static_cast<double>(weight.size())));
      }
    }
    sink.value("outliers", largest, "rms", QUENCH_LOWER_IS_BETTER);
  }
};

}  // namespace

QUENCH_MODULE("outliers", "0.1.0",
              kit::metric<Outliers>({.id = "outliers",
                                     .version = "0.1.0",
                                     .summary = "The largest weight in root mean squares."}))
