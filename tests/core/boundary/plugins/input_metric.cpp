// Metrics whose value is the number in a file: read through the host, or by themselves.
#include <cstdlib>
#include <fstream>
#include <string>

#include "quench/kit/input.hpp"
#include "quench/kit/metric.hpp"

namespace kit = quench::kit;

namespace {

struct Params {
  kit::Path file;
  std::string other;
  static void describe(kit::Fields<Params>& f) {
    f.add("file", &Params::file, "the file with the number");
    f.add("other", &Params::other, "a file whose number is added, or nothing");
  }
};

template <bool ThroughHost>
class InputMetric final : public kit::Metric {
 public:
  using Params = ::Params;
  explicit InputMetric(const Params& params) : params_(params) {}

  void evaluate(const kit::Evaluation&, kit::MetricSink& sink) override {
    const double value =
        number_in(params_.file.path) + (params_.other.empty() ? 0 : number_in(params_.other));
    sink.value("number", value, "1", QUENCH_NO_DIRECTION, 0);
  }

 private:
  static double number_in(const std::string& path) {
    if (ThroughHost) {
      return std::strtod(kit::Input(path).text().c_str(), nullptr);
    }
    double value = 0;
    std::ifstream(path) >> value;
    return value;
  }

  Params params_;
};

}  // namespace

QUENCH_MODULE("input_metric", "0.1.0",
              kit::metric<InputMetric<true>>({.id = "held_number",
                                              .version = "0.1.0",
                                              .summary = "A number, read through the host."}),
              kit::metric<InputMetric<false>>(
                  {.id = "own_number", .version = "0.1.0", .summary = "A number, read by itself."}))
