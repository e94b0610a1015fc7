// hessian: the largest eigenvalues, the trace and the spectrum of the loss's second derivative.
//
// | parameter      | type   | default  | meaning                                                  |
// |----------------|--------|----------|----------------------------------------------------------|
// | corpus         | corpus | required | the sequences whose mean loss is differentiated          |
// | length         | int    | 0        | ids of a sequence; 0: each document is one               |
// | rows           | int    | 0        | sequences to use; 0: all                                 |
// | stride         | int    |          | use every n-th sequence; all, if not set                 |
// | sets           | int    | 1        | disjoint sets to split the sequences into                |
// | top            | int    | 5        | number of largest eigenvalues to compute                 |
// | method         | choice | lanczos  | lanczos or power                                         |
// | curvature      | choice | hessian  | hessian, gauss_newton, forward or differences            |
// | tolerance      | float  | 1e-6     | lanczos: residual; power: change of an eigenvalue        |
// | steps          | int    | 300      | most products: lanczos in all, power per eigenvalue      |
// | basis          | int    | 0        | Lanczos vectors kept at once; 0: as many as fit in 4 GiB |
// | trace_samples  | int    | 100      | random vectors for the trace; 0: no trace                |
// | density_probes | int    | 0        | starting vectors for the spectral density; 0: none       |
// | density_steps  | int    | 80       | Lanczos steps per starting vector                        |
// | tensors        | choice |          | matrices: hidden ones alone; all, if not set             |
// | relative       | bool   |          | in units of each tensor's root mean square, if true      |
// | parts          | choice | none     | also report each block or each layer                     |
// | seed           | int    | 0        | seed of all random vectors                               |
// | dtype          | choice | model    | model, float32 or float64: dtype to open the model in    |
//
//   - hessian: {corpus: refinedweb, length: 512, rows: 48, sets: 3, dtype: float64}
//
// The loss is the mean over the scored positions (all ids of a sequence except its first), in eval
// mode, as a function of all parameters, or, with `tensors: matrices`, of what quantizers round;
// tied ones count once. `relative` asks for D·H·D, where D has each tensor's root mean square: a
// curvature that multiplying a tensor before a normalization leaves as it is. The value is λ₁, the
// algebraically largest eigenvalue; with several sets, the mean over the sets with its standard
// error. Batches of few tokens overestimate λ₁: `sets` and an axis of `rows` show spread and bias,
// and the details count the tokens. Residuals |Hy − λy| come from a separate product, not from the
// recurrence. `products` counts all products.
//
// A Lanczos vector is as long as the model has parameters. A full basis continues after a restart
// (eigenvalues) or without its oldest vector (density), so memory is bounded and the eigenvalues
// are the same within the tolerance. The details say how many vectors there were and how often this
// happened.
#include <algorithm>
#include <cmath>
#include <optional>

#include "metrics/curvature/batch_loss.hpp"
#include "metrics/curvature/eigenvalues.hpp"
#include "metrics/curvature/graph_bytes.hpp"
#include "metrics/curvature/json_text.hpp"
#include "metrics/curvature/parts.hpp"
#include "metrics/hessian/coordinates.hpp"
#include "metrics/hessian/trace.hpp"
#include "quench/kit/metric.hpp"

namespace quench::hessian {

namespace {

using curvature::Eigenvalues;
using curvature::JsonObject;
using curvature::Part;
using curvature::Row;

struct Settings {
  kit::CorpusName corpus;
  int64_t length = 0;
  int64_t rows = 0;
  std::optional<int64_t> stride;
  int64_t sets = 1;
  int64_t top = 5;
  std::string method = "lanczos";
  std::string curvature = "hessian";
  double tolerance = 1e-6;
  int64_t steps = 300;
  int64_t basis = 0;
  int64_t trace_samples = 100;
  int64_t density_probes = 0;
  int64_t density_steps = 80;
  std::optional<std::string> tensors;
  std::optional<bool> relative;
  std::string parts = "none";
  int64_t seed = 0;
  std::string dtype = "model";

  static void describe(kit::Fields<Settings>& f) {
    f.add("corpus", &Settings::corpus, "the sequences whose mean loss is differentiated")
        .required();
    f.add("length", &Settings::length, "ids of a sequence; 0: each document is one").at_least(0);
    f.add("rows", &Settings::rows, "sequences to use; 0: all").at_least(0);
    f.add("stride", &Settings::stride,
          "use every n-th sequence, so that few rows are of many documents; all, if not set")
        .at_least(1);
    f.add("sets", &Settings::sets, "disjoint sets to split the sequences into").range(1, 1000);
    f.add("top", &Settings::top, "number of largest eigenvalues to compute").range(1, 1000);
    f.add("method", &Settings::method, "Lanczos with full reorthogonalization, or power iteration")
        .choices("lanczos|power");
    f.add("curvature", &Settings::curvature,
          "the Hessian by double backward, Gauss-Newton, the Hessian by forward over reverse, or "
          "central differences of the gradient")
        .choices("hessian|gauss_newton|forward|differences");
    f.add("tolerance", &Settings::tolerance,
          "lanczos: residual / largest eigenvalue; power: change / eigenvalue, per iteration")
        .range(1e-14, 1);
    f.add("steps", &Settings::steps, "most products: in all for lanczos, per eigenvalue for power")
        .range(1, 100000);
    f.add("basis", &Settings::basis,
          "Lanczos vectors kept at once, each as long as the model has parameters; at "
          "least top + 3; 0: as many as fit in 4 GiB, at least 2 top + 6")
        .at_least(0);
    f.add("trace_samples", &Settings::trace_samples, "random vectors for the trace; 0: no trace")
        .range(0, 1e6);
    f.add("density_probes", &Settings::density_probes,
          "starting vectors for the spectral density; 0: none")
        .range(0, 10000);
    f.add("density_steps", &Settings::density_steps, "Lanczos steps per starting vector")
        .range(1, 10000);
    f.add("tensors", &Settings::tensors,
          "the parameters whose curvature it is: all, as if not set, or hidden matrices alone, "
          "which "
          "quantizers round")
        .choices("all|matrices");
    f.add("relative", &Settings::relative,
          "whether each tensor is in units of its root mean square, which makes the curvature "
          "independent of its scale; not, if not set");
    f.add("parts", &Settings::parts,
          "also the trace and largest eigenvalue of each block's or layer's diagonal block")
        .choices("none|blocks|layers");
    f.add("seed", &Settings::seed, "seed of all random vectors").at_least(0);
    f.add("dtype", &Settings::dtype, "dtype in which to open the model")
        .choices("model|float32|float64");
  }
};

constexpr uint64_t kBasisBytes = uint64_t{4} << 30;

// The results for one set of sequences.
struct Found {
  Eigenvalues eigen;
  std::vector<Part> parts;
  std::vector<Trace> traces;  // [0] the whole, then the parts; empty without a trace
  std::vector<Eigenvalues> part_eigen;
  std::vector<curvature::Quadrature> density;
  size_t basis = 0;
  double loss = 0;
  double gradient_norm = 0;
  uint64_t products = 0;
  uint64_t rows = 0;
  uint64_t tokens = 0;
  uint64_t scored = 0;
};

// Depends on shapes and parameters, never on free memory, because it affects bits.
size_t vectors_kept(const Settings& settings, uint64_t top, uint64_t elements,
                    uint64_t element_bytes) {
  const auto wanted = static_cast<uint64_t>(settings.basis);
  if (wanted > 0 && wanted < top + 3) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "basis = %llu, wanted at least top + 3 = %llu",
              static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(top + 3));
  }
  return wanted > 0
             ? wanted
             : std::max(2 * top + 6, kBasisBytes / std::max<uint64_t>(1, elements * element_bytes));
}

template <typename T>
Found analyse(const Settings& settings, const quench_subject& subject,
              const std::vector<Row>& rows) {
  Found out;
  curvature::BatchLoss<T> loss(subject, rows, curvature::kind_of(settings.curvature));
  const Coordinates<T> coordinates(subject, loss.space(), settings.tensors == "matrices",
                                   settings.relative.value_or(false));
  const curvature::Operator<T> product = coordinates.around(
      [&](std::span<const T> v, std::span<T> to) {
        loss.product(v, to);
        ++out.products;
        kit::report_progress("products", out.products, 0);
      },
      loss.size());
  const std::string stream = "seed " + std::to_string(settings.seed) + "/";
  const auto steps = static_cast<size_t>(settings.steps);
  const auto top = static_cast<size_t>(settings.top);
  const auto limits = [&](uint64_t count, uint64_t elements) {
    return curvature::LanczosLimits{settings.tolerance, steps,
                                    vectors_kept(settings, count, elements, sizeof(T))};
  };
  out.basis = limits(top, loss.size()).vectors;
  out.rows = loss.rows();
  out.tokens = loss.tokens();
  out.scored = loss.scored();
  {
    const metrics::Vector<T> gradient(loss.space(), loss.size());
    out.loss = loss.gradient(gradient);
    out.gradient_norm = metrics::norm<T>(loss.space(), gradient);
  }
  out.eigen = settings.method == "power"
                  ? curvature::power_iteration<T>(product, loss.size(), top, settings.tolerance,
                                                  steps, stream + "start", loss.space())
                  : curvature::lanczos<T>(product, loss.size(), coordinates.ranges(), top,
                                          limits(top, loss.size()), stream + "start", loss.space());
  const auto parameters = coordinates.parameters();
  out.parts = settings.parts == "layers" ? curvature::layers_of(parameters)
                                         : curvature::blocks_of(parameters);
  if (settings.trace_samples > 0) {
    out.traces =
        traces<T>(product, loss.size(), out.parts, static_cast<uint64_t>(settings.trace_samples),
                  stream + "trace", loss.space());
  }
  for (const Part& part : settings.parts == "none" ? std::vector<Part>{} : out.parts) {
    out.part_eigen.push_back(curvature::lanczos<T>(product, loss.size(), part.ranges, 1,
                                                   limits(1, curvature::size_of(part.ranges)),
                                                   stream + "start/" + part.name, loss.space()));
  }
  for (int64_t p = 0; p < settings.density_probes; ++p) {
    out.density.push_back(curvature::quadrature<T>(
        product, loss.size(), coordinates.ranges(), static_cast<size_t>(settings.density_steps),
        out.basis, stream + "density/" + std::to_string(p), loss.space()));
  }
  return out;
}

std::string parts_text(const Found& found) {
  JsonObject all;
  for (size_t p = 0; p < found.parts.size(); ++p) {
    const Part& part = found.parts[p];
    JsonObject one;
    one.add("parameters", static_cast<double>(curvature::size_of(part.ranges)));
    if (!found.traces.empty()) {
      one.add("trace", found.traces[p + 1].mean);
      one.add("trace_stderr", found.traces[p + 1].standard_error);
    }
    if (!found.part_eigen.empty()) {
      one.add("eigenvalue", found.part_eigen[p].values.at(0));
      one.add("residual", found.part_eigen[p].residuals.at(0));
    }
    all.add(part.name, one.text());
  }
  return all.text();
}

// The weights of the density's nodes are means over the starting vectors, so they sum to 1.
std::string density_text(const Found& found) {
  std::vector<std::pair<double, double>> nodes;
  for (const curvature::Quadrature& one : found.density) {
    for (size_t i = 0; i < one.nodes.size(); ++i) {
      nodes.emplace_back(one.nodes[i], one.weights[i] / static_cast<double>(found.density.size()));
    }
  }
  std::sort(nodes.begin(), nodes.end());
  std::vector<double> values;
  std::vector<double> weights;
  for (const auto& [value, weight] : nodes) {
    values.push_back(value);
    weights.push_back(weight);
  }
  return JsonObject()
      .add("values", curvature::json_list(values))
      .add("weights", curvature::json_list(weights))
      .text();
}

std::string set_text(const Found& found) {
  JsonObject one;
  one.add("rows", static_cast<double>(found.rows))
      .add("tokens", static_cast<double>(found.tokens))
      .add("loss", found.loss)
      .add("gradient_norm", found.gradient_norm)
      .add("eigenvalues", curvature::json_list(found.eigen.values))
      .add("residuals", curvature::json_list(found.eigen.residuals))
      .add("products", static_cast<double>(found.products));
  if (!found.traces.empty()) {
    one.add("trace", found.traces[0].mean).add("trace_stderr", found.traces[0].standard_error);
  }
  return one.text();
}

// The mean and its standard error (NaN for a single value).
Trace mean_over(const std::vector<Found>& sets, const std::function<double(const Found&)>& of) {
  double sum = 0;
  for (const Found& found : sets) {
    sum += of(found);
  }
  const auto count = static_cast<double>(sets.size());
  double squares = 0;
  for (const Found& found : sets) {
    squares += std::pow(of(found) - sum / count, 2);
  }
  return {sum / count, std::sqrt(squares / (count - 1.0) / count)};
}

class Hessian final : public kit::Metric {
 public:
  using Params = Settings;
  explicit Hessian(const Params& params) : settings_(params) {}

  kit::PlacedMemory memory_on_device(const quench_model_table& table, const quench_model* model,
                                     bool vectors_there) const override {
    const curvature::GraphShapes shapes = curvature::graph_shapes(table, model);
    const uint64_t vectors = this->vectors(shapes) * curvature::vector_bytes(shapes);
    return vectors_there ? kit::PlacedMemory{graphs(shapes) + vectors + turned(shapes), 0}
                         : kit::PlacedMemory{graphs(shapes), vectors};
  }

  void fits(const quench_model_info& model) const override {
    kit::check_context("length", settings_.length, model);
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const std::vector<Row> rows = curvature::rows_of(
        evaluation.tokens("corpus"), static_cast<uint64_t>(settings_.length),
        static_cast<uint64_t>(settings_.rows), static_cast<uint64_t>(settings_.stride.value_or(1)));
    std::vector<Found> sets;
    for (const auto& set : curvature::disjoint_sets(rows, static_cast<uint64_t>(settings_.sets))) {
      sets.push_back(curvature::has_wide_vectors(evaluation.subject())
                         ? analyse<double>(settings_, evaluation.subject(), set)
                         : analyse<float>(settings_, evaluation.subject(), set));
    }
    tell(sets, sink);
  }

 private:
  // The vectors at the end of a search: the basis, three work vectors of Krylov, an eigenvector and
  // its product; of differences three more, in other coordinates one.
  uint64_t vectors(const curvature::GraphShapes& shapes) const {
    const bool scaled = settings_.relative.value_or(false) || settings_.tensors == "matrices";
    const uint64_t beside =
        (settings_.curvature == "differences" ? uint64_t{8} : uint64_t{5}) + (scaled ? 1U : 0U);
    const auto top = static_cast<uint64_t>(settings_.top);
    const uint64_t kept = kept_of(shapes);
    const uint64_t search =
        settings_.method == "power" ? top : std::min(kept, static_cast<uint64_t>(settings_.steps));
    const uint64_t density = settings_.density_probes > 0
                                 ? std::min(kept, static_cast<uint64_t>(settings_.density_steps))
                                 : 0;
    return std::max(search, density) + beside;
  }
  uint64_t kept_of(const curvature::GraphShapes& shapes) const {
    return vectors_kept(settings_, static_cast<uint64_t>(settings_.top), shapes.parameters,
                        std::max<uint64_t>(shapes.element, sizeof(float)));
  }
  // A search that begins again turns its basis slice by slice, on a device into memory beside it.
  uint64_t turned(const curvature::GraphShapes& shapes) const {
    const uint64_t kept = kept_of(shapes);
    const bool begins_again =
        settings_.method != "power" && static_cast<uint64_t>(settings_.steps) > kept;
    return begins_again ? kept * std::min(curvature::vector_bytes(shapes),
                                          metrics::kTurned * std::max<uint64_t>(shapes.element, 4))
                        : 0;
  }

  // For the sequences of one set.
  uint64_t graphs(const curvature::GraphShapes& shapes) const {
    return curvature::held_graphs(shapes, static_cast<uint64_t>(settings_.rows / settings_.sets),
                                  static_cast<uint64_t>(settings_.length));
  }

  void tell(const std::vector<Found>& sets, kit::MetricSink& sink) const {
    const Found& first = sets.front();
    const Trace largest = mean_over(sets, [](const Found& f) { return f.eigen.values.at(0); });
    sink.value("hessian", largest.mean, "nats/token", QUENCH_NO_DIRECTION, largest.standard_error);
    std::vector<double> values;
    std::vector<double> residuals;
    for (size_t i = 0; i < first.eigen.values.size(); ++i) {
      values.push_back(mean_over(sets, [i](const Found& f) { return f.eigen.values.at(i); }).mean);
      residuals.push_back(0);
      for (const Found& found : sets) {
        residuals.back() = std::max(residuals.back(), found.eigen.residuals.at(i));
      }
    }
    sink.json("eigenvalues", curvature::json_list(values));
    sink.json("residuals", curvature::json_list(residuals));
    if (!first.traces.empty()) {
      const Trace over = mean_over(sets, [](const Found& f) { return f.traces[0].mean; });
      const double error = sets.size() == 1 ? first.traces[0].standard_error : over.standard_error;
      sink.value("trace", over.mean, "nats/token", QUENCH_NO_DIRECTION, error);
      sink.detail("trace", over.mean);
      sink.json("trace_stderr", curvature::json_number(error));
    }
    double products = 0;
    double tokens = 0;
    double restarts = 0;
    bool converged = true;
    std::vector<double> each;
    std::string text;
    for (const Found& found : sets) {
      products += static_cast<double>(found.products);
      tokens += static_cast<double>(found.tokens);
      restarts += static_cast<double>(found.eigen.restarts);
      converged = converged && found.eigen.converged;
      each.push_back(found.eigen.values.at(0));
      text += (text.empty() ? "" : ",") + set_text(found);
    }
    sink.detail("products", products);
    sink.detail("tokens", tokens);
    sink.detail("rows", static_cast<double>(first.rows) * static_cast<double>(sets.size()));
    sink.detail("loss", mean_over(sets, [](const Found& f) { return f.loss; }).mean);
    sink.detail("gradient_norm",
                mean_over(sets, [](const Found& f) { return f.gradient_norm; }).mean);
    sink.json("converged", converged ? "true" : "false");
    if (settings_.method == "lanczos") {
      sink.detail("basis", static_cast<double>(std::min<uint64_t>(
                               first.basis, static_cast<uint64_t>(settings_.steps))));
      sink.detail("restarts", restarts);
    }
    if (sets.size() > 1) {
      sink.json("sets", "[" + text + "]");
    }
    if (!first.traces.empty() || !first.part_eigen.empty()) {
      sink.json("parts", parts_text(first));
    }
    if (!first.density.empty()) {
      sink.json("density", density_text(first));
    }
    sink.items("eigenvalue", each);
  }

  Settings settings_;
};

}  // namespace

}  // namespace quench::hessian

QUENCH_MODULE("quench.hessian", "0.1.0",
              quench::kit::metric<quench::hessian::Hessian>(
                  {.id = "hessian",
                   .version = "0.1.0",
                   .summary = "Largest eigenvalues, trace and spectrum of the loss's Hessian.",
                   .reference = "Yao et al. 2020, arXiv 1912.07145; Lanczos 1950"}))
