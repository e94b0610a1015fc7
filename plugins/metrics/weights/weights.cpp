// weights: norms, outliers and tails of each weight tensor, and the norm of the gradient.
//
// | parameter | type   | default | meaning                                                     |
// |-----------|--------|---------|-------------------------------------------------------------|
// | outlier   | float  | 6       | an outlier is at least this many times the root mean square |
// | corpus    | corpus | ""      | sequences for the gradient's norm; empty: leave it out      |
// | length    | int    | 0       | ids of a sequence; 0: each document is one                  |
// | rows      | int    | 0       | sequences to use; 0: all                                    |
//
//   - weights: {outlier: 6}
//
// The value is the L2 norm of all parameters; tied ones count once. `tensors` holds, for each:
// elements, l1, l2, linf, kurtosis m₄/m₂² about the mean (3 for a normal distribution), outliers
// (elements with |w| >= outlier · rms), peak |w|_∞/rms, and gradient_norm if there is a corpus.
// `matrices` holds the same over all matrices of the blocks together; its kurtosis and outliers are
// means over tensors, weighted by elements. Sums run in float64 over fixed ranges. For a quantized
// model, all values are those of the quantized weights.
#include <cmath>

#include "metrics/curvature/batch_loss.hpp"
#include "metrics/curvature/json_text.hpp"
#include "metrics/vectors/algebra.hpp"
#include "quench/kit/metric.hpp"

namespace quench::weights {

namespace {

struct Settings {
  double outlier = 6;
  kit::CorpusName corpus;
  int64_t length = 0;
  int64_t rows = 0;

  static void describe(kit::Fields<Settings>& f) {
    f.add("outlier", &Settings::outlier,
          "an outlier is at least this many times the root mean square")
        .range(0, 1e6);
    f.add("corpus", &Settings::corpus, "sequences for the gradient's norm; empty: leave it out");
    f.add("length", &Settings::length, "ids of a sequence; 0: each document is one").at_least(0);
    f.add("rows", &Settings::rows, "sequences to use; 0: all").at_least(0);
  }
};

struct Statistics {
  double elements = 0;
  double l1 = 0;
  double squares = 0;
  double peak = 0;
  double kurtosis = 0;  // NaN for a constant tensor
  double outliers = 0;
};

Statistics statistics_of(std::span<const double> values, double outlier) {
  Statistics out;
  const auto count = static_cast<double>(values.size());
  const auto sum = [&](auto&& of) {
    return metrics::sum_over(values.size(), [&](uint64_t begin, uint64_t end) {
      double part = 0;
      for (uint64_t i = begin; i < end; ++i) {
        part += of(values[i]);
      }
      return part;
    });
  };
  out.elements = count;
  out.l1 = sum([](double w) { return std::abs(w); });
  out.squares = sum([](double w) { return w * w; });
  const double mean = sum([](double w) { return w; }) / count;
  const double second = sum([mean](double w) { return (w - mean) * (w - mean); }) / count;
  const double fourth = sum([mean](double w) { return std::pow(w - mean, 4); }) / count;
  out.kurtosis = fourth / (second * second);
  const double limit = outlier * std::sqrt(out.squares / count);
  out.outliers = sum([limit](double w) { return std::abs(w) >= limit && w != 0.0 ? 1.0 : 0.0; });
  for (const double value : values) {
    out.peak = std::max(out.peak, std::abs(value));
    if (!std::isfinite(value)) {
      out.peak = std::abs(value);
      break;
    }
  }
  return out;
}

// The norm of the gradient over each parameter.
template <typename T>
std::vector<double> gradient_norms(const quench_subject& subject,
                                   const std::vector<curvature::Row>& rows) {
  curvature::BatchLoss<T> loss(subject, rows, curvature::Kind::kDifferences);
  const metrics::Vector<T> gradient(loss.space(), loss.size());
  loss.gradient(gradient);
  std::vector<double> norms;
  for (const quench_parameter_info& parameter : curvature::parameters_of(subject)) {
    norms.push_back(metrics::norm<T>(
        loss.space(), gradient.part(parameter.offset, curvature::elements_of(parameter))));
  }
  return norms;
}

double length_of(const std::vector<double>& parts) {
  double squares = 0;
  for (const double part : parts) {
    squares += part * part;
  }
  return std::sqrt(squares);
}

curvature::JsonObject text_of(const Statistics& of) {
  const double rms = std::sqrt(of.squares / of.elements);
  return curvature::JsonObject()
      .add("elements", of.elements)
      .add("l1", of.l1)
      .add("l2", std::sqrt(of.squares))
      .add("linf", of.peak)
      .add("kurtosis", of.kurtosis)
      .add("outliers", of.outliers)
      .add("peak", of.peak / rms);
}

class Weights final : public kit::Metric {
 public:
  using Params = Settings;
  explicit Weights(const Params& params) : settings_(params) {}

  void fits(const quench_model_info& model) const override {
    kit::check_context("length", settings_.length, model);
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const quench_subject& subject = evaluation.subject();
    std::vector<double> gradients;
    if (!settings_.corpus.name.empty()) {
      const auto rows =
          curvature::rows_of(evaluation.tokens("corpus"), static_cast<uint64_t>(settings_.length),
                             static_cast<uint64_t>(settings_.rows));
      gradients = curvature::has_wide_vectors(subject) ? gradient_norms<double>(subject, rows)
                                                       : gradient_norms<float>(subject, rows);
    }
    curvature::JsonObject tensors;
    Statistics whole;
    Statistics matrices;
    std::vector<double> lengths;
    size_t index = 0;
    for (const quench_parameter_info& parameter : curvature::parameters_of(subject)) {
      kit::check_cancelled();
      std::vector<double> values(curvature::elements_of(parameter));
      curvature::read_parameter<double>(subject, parameter, values);
      const Statistics found = statistics_of(values, settings_.outlier);
      if (!std::isfinite(found.peak)) {
        kit::fail(QUENCH_NUMERICAL, "%s has a value that is not finite", parameter.name);
      }
      curvature::JsonObject text = text_of(found);
      if (!gradients.empty()) {
        text.add("gradient_norm", gradients[index]);
      }
      tensors.add(parameter.name, text.text());
      add(found, whole);
      if (parameter.role == QUENCH_ROLE_MATRIX) {
        add(found, matrices);
      }
      lengths.push_back(std::sqrt(found.squares));
      ++index;
    }
    sink.value("weights", std::sqrt(whole.squares), "1", QUENCH_NO_DIRECTION);
    sink.detail("l1", whole.l1);
    sink.detail("linf", whole.peak);
    sink.detail("parameters", whole.elements);
    sink.detail("outliers", whole.outliers);
    if (matrices.elements > 0) {
      matrices.kurtosis /= matrices.elements;
      sink.json("matrices", text_of(matrices).text());
    }
    if (!gradients.empty()) {
      sink.value("gradient_norm", length_of(gradients), "nats/token", QUENCH_NO_DIRECTION);
    }
    sink.json("tensors", tensors.text());
    sink.items("l2", lengths);
  }

 private:
  // Kurtosis is added up weighted by elements.
  static void add(const Statistics& one, Statistics& to) {
    to.elements += one.elements;
    to.l1 += one.l1;
    to.squares += one.squares;
    to.peak = std::max(to.peak, one.peak);
    to.kurtosis += std::isfinite(one.kurtosis) ? one.kurtosis * one.elements : 0.0;
    to.outliers += one.outliers;
  }

  Settings settings_;
};

}  // namespace

}  // namespace quench::weights

QUENCH_MODULE("quench.weights", "0.1.0",
              quench::kit::metric<quench::weights::Weights>(
                  {.id = "weights",
                   .version = "0.1.0",
                   .summary = "Norms, outliers and tails of the weights; the gradient's norm."}))
