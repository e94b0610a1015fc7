// taylor: how much of a quantizer's loss the slope and curvature at the float weights explain.
//
// | parameter | type   | default  | meaning                                                  |
// |-----------|--------|----------|----------------------------------------------------------|
// | corpus    | corpus | required | the sequences whose mean loss is expanded                |
// | length    | int    | 0        | ids of a sequence; 0: each document is one               |
// | rows      | int    | 0        | sequences to use; 0: all                                 |
// | stride    | int    |          | use every n-th sequence; all, if not set                 |
// | parts     | choice | layers   | report terms per layer, per block, or only for the whole |
// | curvature | choice | hessian  | hessian, gauss_newton, forward or differences            |
// | dtype     | choice | model    | model, float32 or float64: dtype to open the model in    |
//
//   - taylor: {corpus: refinedweb, length: 512, rows: 16, dtype: float64}
//
// With θ the float weights, θ̂ the quantized weights, δ = θ̂ − θ and L the mean loss:
//
//   L(θ̂) − L(θ) = gᵀδ + ½ δᵀHδ + remainder          g, H at θ; one product Hδ
//
// The value is ½ δᵀHδ in nats per token. Let δ_p equal δ on part p and 0 elsewhere. For each part
// the details hold gᵀδ_p, ½ δ_pᵀHδ_p (one product each), the change of the loss by δ_p alone (one
// forward each), its remainder, and |δ_p|/|θ_p|. The terms gᵀδ_p add up to gᵀδ. The quadratic terms
// add up to ½ δᵀHδ except for the terms between parts, `between`.
#include <cmath>
#include <optional>

#include "metrics/curvature/batch_loss.hpp"
#include "metrics/curvature/json_text.hpp"
#include "metrics/curvature/parts.hpp"
#include "metrics/vectors/space.hpp"
#include "quench/kit/metric.hpp"
#include "quench/kit/source.hpp"

namespace quench::taylor {

namespace {

struct Settings {
  kit::CorpusName corpus;
  int64_t length = 0;
  int64_t rows = 0;
  std::optional<int64_t> stride;
  std::string parts = "layers";
  std::string curvature = "hessian";
  std::string dtype = "model";

  static void describe(kit::Fields<Settings>& f) {
    f.add("corpus", &Settings::corpus, "the sequences whose mean loss is expanded").required();
    f.add("length", &Settings::length, "ids of a sequence; 0: each document is one").at_least(0);
    f.add("rows", &Settings::rows, "sequences to use; 0: all").at_least(0);
    f.add("stride", &Settings::stride,
          "use every n-th sequence, so that few rows are of many documents; all, if not set")
        .at_least(1);
    f.add("parts", &Settings::parts, "report terms per layer, per block, or only for the whole")
        .choices("none|blocks|layers");
    f.add("curvature", &Settings::curvature,
          "the Hessian by double backward, Gauss-Newton, the Hessian by forward over reverse, or "
          "central differences of the gradient")
        .choices("hessian|gauss_newton|forward|differences");
    f.add("dtype", &Settings::dtype, "dtype in which to open the model")
        .choices("model|float32|float64");
  }
};

struct Terms {
  double slope = 0;      // gᵀδ
  double quadratic = 0;  // ½ δᵀHδ
  double change = 0;     // L(θ + δ) − L(θ)
  double distance = 0;   // |δ|
  double length = 0;     // |θ|

  std::string text() const {
    return curvature::JsonObject()
        .add("slope", slope)
        .add("quadratic", quadratic)
        .add("change", change)
        .add("remainder", change - slope - quadratic)
        .add("relative_distance", distance / length)
        .text();
  }
};

// Restores the weights when it is destroyed.
template <typename T>
class Restored {
 public:
  Restored(const quench_subject& subject, const metrics::Space<T>& space,
           std::span<const T> weights)
      : subject_(subject), space_(space), weights_(weights) {}
  ~Restored() {
    try {
      curvature::write_parameters<T>(subject_, space_, weights_);
    } catch (const kit::Error& error) {
      kit::log(QUENCH_LOG_ERROR, std::string("the weights were not restored: ") + error.what());
    }
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  const quench_subject& subject_;
  const metrics::Space<T>& space_;
  std::span<const T> weights_;
};

// Reads a source's tensor under a parameter's name or one of its aliases.
template <typename T>
void read_tensor(const kit::Source& source, const quench_parameter_info& parameter,
                 std::span<T> to) {
  std::optional<uint64_t> index = source.find(parameter.name);
  for (uint32_t a = 0; a < parameter.alias_count && !index; ++a) {
    index = source.find(parameter.aliases[a]);
  }
  if (!index) {
    kit::fail(QUENCH_DATA_LOSS, "the float weights have no %s", parameter.name);
  }
  const quench_dtype dtype = source.info(*index).dtype;
  if (kit::same(dtype, kit::kFloat64)) {
    std::vector<double> values(to.size());
    source.read(*index, 0, to.size(), values.data());
    std::copy(values.begin(), values.end(), to.begin());
  } else if (kit::same(dtype, kit::kFloat32)) {
    std::vector<float> values(to.size());
    source.read(*index, 0, to.size(), values.data());
    std::copy(values.begin(), values.end(), to.begin());
  } else {
    kit::fail(QUENCH_UNSUPPORTED, "%s: float weights in %s", parameter.name,
              kit::name_of(dtype).c_str());
  }
}

class Taylor final : public kit::Metric {
 public:
  using Params = Settings;
  explicit Taylor(const Params& params) : settings_(params) {}

  uint32_t needs() const override { return QUENCH_METRIC_NEEDS_FLOAT; }

  void fits(const quench_model_info& model) const override {
    kit::check_context("length", settings_.length, model);
  }

  kit::PlacedMemory memory_on_device(const quench_model_table& table, const quench_model* model,
                                     bool vectors_there) const override {
    const curvature::GraphShapes shapes = curvature::graph_shapes(table, model);
    const uint64_t graphs = curvature::held_graphs(shapes, static_cast<uint64_t>(settings_.rows),
                                                   static_cast<uint64_t>(settings_.length));
    const uint64_t vectors = vectors_held() * curvature::vector_bytes(shapes);
    return vectors_there ? kit::PlacedMemory{graphs + vectors, 0}
                         : kit::PlacedMemory{graphs, vectors};
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    if (evaluation.weights().empty()) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "wanted a quantized model and its float weights");
    }
    if (curvature::has_wide_vectors(evaluation.subject())) {
      measure<double>(evaluation, sink);
    } else {
      measure<float>(evaluation, sink);
    }
  }

 private:
  // Both sets of weights, their difference, gradient and product, and one part's displacement; of
  // differences three more.
  uint64_t vectors_held() const {
    return (settings_.parts == "none" ? 5u : 6u) + (settings_.curvature == "differences" ? 3u : 0u);
  }

  template <typename T>
  void measure(const kit::Evaluation& evaluation, kit::MetricSink& sink) const {
    const quench_subject& subject = evaluation.subject();
    // Declared before the loss, whose graphs must be gone when the weights are restored.
    const std::shared_ptr<metrics::Space<T>> place = metrics::space_of<T>(subject);
    metrics::Space<T>& space = *place;
    const metrics::Vector<T> there(space, curvature::elements_of_all(subject));
    curvature::read_parameters<T>(subject, space, there);
    const Restored<T> quantized(subject, space, there);
    curvature::BatchLoss<T> loss(
        subject,
        curvature::rows_of(evaluation.tokens("corpus"), static_cast<uint64_t>(settings_.length),
                           static_cast<uint64_t>(settings_.rows),
                           static_cast<uint64_t>(settings_.stride.value_or(1))),
        curvature::kind_of(settings_.curvature));
    const double loss_there = loss.value();
    const metrics::Vector<T> here(space, loss.size());
    const kit::Source source(*evaluation.weights()[0].source);
    for (const quench_parameter_info& parameter : curvature::parameters_of(subject)) {
      space.fill(here.part(parameter.offset, curvature::elements_of(parameter)),
                 [&](std::span<T> to) { read_tensor<T>(source, parameter, to); });
    }
    curvature::write_parameters<T>(subject, space, here);
    // The weights as the model stores them, in its own dtype.
    curvature::read_parameters<T>(subject, space, here);
    const metrics::Vector<T> delta(space, loss.size());
    space.copy(there, delta);
    space.combine(delta, 1.0, -1.0, here);
    const metrics::Vector<T> gradient(space, loss.size());
    const double loss_here = loss.gradient(gradient);
    const metrics::Vector<T> product(space, loss.size());
    const auto quadratic = [&](std::span<const T> d) {
      loss.product(d, product);
      return 0.5 * space.dot(d, product);
    };
    Terms whole;
    whole.slope = space.dot(gradient, delta);
    whole.quadratic = quadratic(delta);
    whole.change = loss_there - loss_here;
    whole.distance = metrics::norm<T>(space, delta);
    whole.length = metrics::norm<T>(space, here);
    std::vector<std::pair<curvature::Part, Terms>> found;
    double inside = 0;
    uint64_t products = 1;
    for (const curvature::Part& part : parts(subject)) {
      const auto product_within = [&](const metrics::Vector<T>& a, const metrics::Vector<T>& b) {
        double sum = 0;
        for (const curvature::Range& range : part.ranges) {
          sum += space.dot(a.part(range.first, range.size()), b.part(range.first, range.size()));
        }
        return sum;
      };
      Terms terms;
      terms.distance = std::sqrt(product_within(delta, delta));
      if (terms.distance == 0.0) {
        continue;  // quantization changed nothing in this part
      }
      kit::report_progress("products", products, 0);
      const metrics::Vector<T> alone(space, loss.size());
      copy_part(space, part, delta, alone);
      terms.slope = product_within(gradient, delta);
      terms.quadratic = quadratic(alone);
      terms.length = std::sqrt(product_within(here, here));
      ++products;
      found.emplace_back(part, terms);
      inside += terms.quadratic;
    }
    // The graphs behind the products must be gone before a weight is set.
    loss.release();
    curvature::JsonObject text;
    for (auto& [part, terms] : found) {
      const metrics::Vector<T> moved(space, loss.size());
      space.copy(here, moved);
      copy_part(space, part, there, moved);
      curvature::write_parameters<T>(subject, space, moved);
      terms.change = loss.value() - loss_here;
      text.add(part.name, terms.text());
    }
    sink.value("taylor", whole.quadratic, "nats/token", QUENCH_NO_DIRECTION);
    sink.detail("slope", whole.slope);
    sink.detail("quadratic", whole.quadratic);
    sink.detail("change", whole.change);
    sink.detail("remainder", whole.change - whole.slope - whole.quadratic);
    sink.detail("relative_distance", whole.distance / whole.length);
    sink.detail("loss_float", loss_here);
    sink.detail("loss_quantized", loss_there);
    sink.detail("gradient_norm", metrics::norm<T>(space, gradient));
    sink.detail("tokens", static_cast<double>(loss.tokens()));
    sink.detail("products", static_cast<double>(products));
    if (settings_.parts != "none") {
      sink.detail("between", whole.quadratic - inside);
      sink.json("parts", text.text());
    }
  }

  template <typename T>
  static void copy_part(metrics::Space<T>& space, const curvature::Part& part,
                        const metrics::Vector<T>& from, const metrics::Vector<T>& to) {
    for (const curvature::Range& range : part.ranges) {
      space.copy(from.part(range.first, range.size()), to.part(range.first, range.size()));
    }
  }

  std::vector<curvature::Part> parts(const quench_subject& subject) const {
    const auto parameters = curvature::parameters_of(subject);
    if (settings_.parts == "none") {
      return {};
    }
    return settings_.parts == "blocks" ? curvature::blocks_of(parameters)
                                       : curvature::layers_of(parameters);
  }

  Settings settings_;
};

}  // namespace

}  // namespace quench::taylor

QUENCH_MODULE("quench.taylor", "0.1.0",
              quench::kit::metric<quench::taylor::Taylor>(
                  {.id = "taylor",
                   .version = "0.1.0",
                   .summary = "Slope, curvature and remainder of the loss between float and "
                              "quantized weights."}))
