// sharpness: how fast the loss rises near the weights. It takes a few forwards, so it suits models
// that are too large for products with the Hessian.
//
// | parameter | type   | default  | meaning                                               |
// |-----------|--------|----------|-------------------------------------------------------|
// | corpus    | corpus | required | the sequences whose mean loss is measured             |
// | length    | int    | 0        | ids of a sequence; 0: each document is one            |
// | rows      | int    | 0        | sequences to use; 0: all                              |
// | rho       | float  | 0.05     | length of the ascent step (Foret et al. 2021)         |
// | relative  | bool   | false    | measure rho in units of |θ|                           |
// | tolerance | float  | 0.02     | relative width of the final bracket around η_c        |
// | dtype     | choice | model    | model, float32 or float64: dtype to open the model in |
//
//   - sharpness: {corpus: refinedweb, length: 512, rows: 16, rho: 0.05}
//
// With g the gradient of the mean loss L, from one forward and backward:
//
//   the value      L(θ + ρ g/|g|) − L(θ)                     in nats per token, one forward
//   critical       2/η_c, where η_c is the smallest step with L(θ − η g) > L(θ): the critical
//                  sharpness along the update of gradient descent (arXiv 2601.16979); on a
//                  quadratic with one direction it is that direction's eigenvalue
//
// η starts at the minimum of the quadratic through the ascent step. It is doubled or halved until
// η_c is bracketed, then bisected: about ten forwards. If forty forwards do not bracket η_c,
// `critical` is left out.
#include <cmath>

#include "metrics/curvature/batch_loss.hpp"
#include "metrics/vectors/space.hpp"
#include "quench/kit/metric.hpp"

namespace quench::sharpness {

namespace {

struct Settings {
  kit::CorpusName corpus;
  int64_t length = 0;
  int64_t rows = 0;
  double rho = 0.05;
  bool relative = false;
  double tolerance = 0.02;
  std::string dtype = "model";

  static void describe(kit::Fields<Settings>& f) {
    f.add("corpus", &Settings::corpus, "the sequences whose mean loss is measured").required();
    f.add("length", &Settings::length, "ids of a sequence; 0: each document is one").at_least(0);
    f.add("rows", &Settings::rows, "sequences to use; 0: all").at_least(0);
    f.add("rho", &Settings::rho, "length of the ascent step").range(1e-12, 1e6);
    f.add("relative", &Settings::relative, "whether rho is in units of the parameters' norm");
    f.add("tolerance", &Settings::tolerance, "relative width of the final bracket around the step")
        .range(1e-9, 1);
    f.add("dtype", &Settings::dtype, "dtype in which to open the model")
        .choices("model|float32|float64");
  }
};

// The loss along the gradient. Restores the weights when it is destroyed.
template <typename T>
class Line {
 public:
  Line(const quench_subject& subject, curvature::BatchLoss<T>& loss)
      : subject_(subject),
        loss_(loss),
        here_(loss.space(), loss.size()),
        moved_(loss.space(), loss.size()),
        gradient_(loss.space(), loss.size()) {
    curvature::read_parameters<T>(subject, loss.space(), here_);
    at_zero_ = loss.gradient(gradient_);
    length_ = metrics::norm<T>(loss.space(), gradient_);
  }
  ~Line() {
    try {
      curvature::write_parameters<T>(subject_, loss_.space(), here_);
    } catch (const kit::Error& error) {
      kit::log(QUENCH_LOG_ERROR, std::string("the weights were not restored: ") + error.what());
    }
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  double at_zero() const { return at_zero_; }
  double gradient_norm() const { return length_; }
  double parameter_norm() const { return metrics::norm<T>(loss_.space(), here_); }
  uint64_t forwards() const { return forwards_; }

  // L(θ + step · g).
  double at(double step) {
    kit::check_cancelled();
    loss_.space().copy(here_, moved_);
    loss_.space().combine(moved_, 1.0, step, gradient_);
    curvature::write_parameters<T>(subject_, loss_.space(), moved_);
    ++forwards_;
    try {
      return loss_.value();
    } catch (const kit::Error& error) {
      if (error.code() == QUENCH_NUMERICAL) {
        return INFINITY;
      }
      throw;
    }
  }

 private:
  const quench_subject& subject_;
  curvature::BatchLoss<T>& loss_;
  metrics::Vector<T> here_;
  metrics::Vector<T> moved_;
  metrics::Vector<T> gradient_;
  double at_zero_ = 0;
  double length_ = 0;
  uint64_t forwards_ = 0;
};

// The smallest step against the gradient that raises the loss; 0 if none was found.
template <typename T>
double critical_step(Line<T>& line, double first, double tolerance) {
  constexpr int kDoublings = 40;
  double low = 0;
  double high = 0;
  double step = first;
  for (int i = 0; i < kDoublings && (low == 0.0 || high == 0.0); ++i) {
    const bool rises = line.at(-step) > line.at_zero();
    (rises ? high : low) = step;
    step *= rises ? 0.5 : 2.0;
  }
  if (low == 0.0 || high == 0.0) {
    return 0;
  }
  while (high - low > tolerance * high) {
    const double middle = 0.5 * (low + high);
    (line.at(-middle) > line.at_zero() ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

class Sharpness final : public kit::Metric {
 public:
  using Params = Settings;
  explicit Sharpness(const Params& params) : settings_(params) {}

  void fits(const quench_model_info& model) const override {
    kit::check_context("length", settings_.length, model);
  }

  // The weights, the moved ones and the gradient.
  kit::PlacedMemory memory_on_device(const quench_model_table& table, const quench_model* model,
                                     bool vectors_there) const override {
    const curvature::GraphShapes shapes = curvature::graph_shapes(table, model);
    const uint64_t graph = curvature::passing_graph(shapes, static_cast<uint64_t>(settings_.rows),
                                                    static_cast<uint64_t>(settings_.length));
    const uint64_t vectors = 3 * curvature::vector_bytes(shapes);
    return vectors_there ? kit::PlacedMemory{graph + vectors, 0}
                         : kit::PlacedMemory{graph, vectors};
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    if (curvature::has_wide_vectors(evaluation.subject())) {
      measure<double>(evaluation, sink);
    } else {
      measure<float>(evaluation, sink);
    }
  }

 private:
  template <typename T>
  void measure(const kit::Evaluation& evaluation, kit::MetricSink& sink) const {
    const quench_subject& subject = evaluation.subject();
    curvature::BatchLoss<T> loss(
        subject,
        curvature::rows_of(evaluation.tokens("corpus"), static_cast<uint64_t>(settings_.length),
                           static_cast<uint64_t>(settings_.rows)),
        curvature::Kind::kDifferences);
    Line<T> line(subject, loss);
    const double length = line.gradient_norm();
    if (!(length > 0.0)) {
      kit::fail(QUENCH_NUMERICAL, "the gradient's norm is %g", length);
    }
    const double rho = settings_.rho * (settings_.relative ? line.parameter_norm() : 1.0);
    const double rise = line.at(rho / length) - line.at_zero();
    // The step at which the quadratic turns that has the ascent step's slope and rise: L rises by a
    // = ρ|g| + ρ²c/2.
    const double bend = 2.0 * (rise - rho * length) / (rho * rho);
    const double first = bend > 0.0 ? 2.0 / bend : rho / length;
    const double step = critical_step(line, first, settings_.tolerance);
    sink.value("sharpness", rise, "nats/token", QUENCH_NO_DIRECTION);
    if (step > 0.0) {
      sink.value("critical", 2.0 / step, "1/step", QUENCH_NO_DIRECTION);
    }
    sink.detail("loss", line.at_zero());
    sink.detail("gradient_norm", length);
    sink.detail("rho", rho);
    sink.detail("critical_step", step);
    sink.detail("curvature_along_gradient", bend);
    sink.detail("forwards", static_cast<double>(line.forwards() + 1));
    sink.detail("tokens", static_cast<double>(loss.tokens()));
  }

  Settings settings_;
};

}  // namespace

}  // namespace quench::sharpness

QUENCH_MODULE(
    "quench.sharpness", "0.1.0",
    quench::kit::metric<quench::sharpness::Sharpness>(
        {.id = "sharpness",
         .version = "0.1.0",
         .summary = "Rise of the loss after an ascent step, and the critical step against "
                    "the gradient.",
         .reference = "Foret et al. 2021, arXiv 2010.01412; Kalra and Barkeshli 2023, "
                      "arXiv 2302.12250"}))
