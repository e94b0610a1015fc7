// error_decomposition: how much of the error after each block of the model comes from the blocks
// before it, and how much the block adds.
//
// | parameter | type   | default  | range | meaning                                   |
// |-----------|--------|----------|-------|-------------------------------------------|
// | corpus    | corpus | required |       | the text that runs through both models    |
// | block     | int    | 2048     | >= 2  | ids per block, each block its own context |
//
//   - error_decomposition: {corpus: refinedweb, block: 2048}
//
// With h_L = F_L(h_{L−1}) the residual stream after block L of the float model, ĥ_L = F̂_L(ĥ_{L−1})
// that of the quantized model, and g_L = F_L(ĥ_{L−1}), the float block at the quantized model's
// input, the error is a sum of what was there before and what the block adds:
//
//   ĥ_L − h_L = (g_L − h_L) + (ĥ_L − g_L)
//
// and its square, over all positions and relative to ‖h_L‖², is R_L = A_L + B_L + C_L:
//
//   R_L = ‖ĥ_L − h_L‖²/‖h_L‖²     A_L = ‖g_L − h_L‖²/‖h_L‖²     B_L = ‖ĥ_L − g_L‖²/‖h_L‖²
//   C_L = 2⟨g_L − h_L, ĥ_L − g_L⟩/‖h_L‖²
//
// A_L is the accumulated error, B_L the new one; C_L is negative where a block undoes some of what
// it was given. The gain ‖g_L − h_L‖/‖ĥ_{L−1} − h_{L−1}‖ says what the float block makes of an
// error: above 1 it amplifies, below 1 it damps. It is null where there is none before.
//
// Vlassis et al. (arXiv 2509.23500) report that a decomposition of this kind, and its R_L at the
// last layer, follow the error of a quantized model where kurtosis does not. Only their abstract
// was at hand: the equations above are this plugin's, and its numbers are not to be compared with
// theirs.
//
// The value is R_L of the last block; its standard error is that of a ratio of means over blocks of
// text. Details: blocks, positions, `embedding`, R before the first block; lists over the blocks of
// the model: `relative_error` (R), `accumulated` (A), `new` (B), `interaction` (C), `gain`, and
// `activation_kurtosis`, the excess kurtosis of all elements of h_L; and `weight_kurtosis`, that of
// each float matrix: 0 for a normal distribution, null for a constant. The items `block_error` have
// the value as their mean.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "metrics/error_decomposition/layer_errors.hpp"
#include "metrics/shared/block_loss.hpp"
#include "metrics/shared/weight_swap.hpp"
#include "quench/kit/metric.hpp"
#include "quench/kit/source.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::metrics {

namespace {

std::string number_or_null(double value) {
  return std::isfinite(value) ? kit::detail::json_text(value) : "null";
}

// A JSON list of `of(layer)`.
template <typename Of>
std::string over_layers(size_t count, Of of) {
  std::string out;
  for (size_t l = 0; l < count; ++l) {
    out += (l > 0 ? "," : "") + number_or_null(of(l));
  }
  return "[" + out + "]";
}

double kurtosis_of(const kit::Source& source, const quench_parameter_info& parameter) {
  const auto index = source.find(parameter.name);
  if (!index) {
    kit::fail(QUENCH_NOT_FOUND, "the float weights have no %s", parameter.name);
  }
  const quench_tensor_info info = source.info(*index);
  int64_t count = 1;
  for (int32_t d = 0; d < parameter.dimensions; ++d) {
    count *= parameter.shape[d];
  }
  std::vector<char> bytes(static_cast<size_t>(count * kit::bytes_of(info.dtype)));
  source.read(*index, 0, static_cast<uint64_t>(count), bytes.data());
  const quench_tensor view = {bytes.data(),
                              {QUENCH_DEVICE_CPU, 0},
                              parameter.dimensions,
                              info.dtype,
                              parameter.shape,
                              nullptr,
                              0};
  Moments moments;
  moments.add(kit::to_doubles(view, parameter.name));
  return moments.excess_kurtosis();
}

// {"name": excess kurtosis} of the float matrices.
std::string weight_kurtosis(const quench_subject& subject, const quench_weights& floating) {
  quench_error error{sizeof error, 0, {}};
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  kit::check(subject.table->parameters(subject.model, &parameters, &count, &error), error);
  const kit::Source source(*floating.source);
  std::string out;
  for (const quench_parameter_info& parameter : std::span(parameters, count)) {
    if (parameter.role == QUENCH_ROLE_MATRIX) {
      kit::check_cancelled();
      out += (out.empty() ? "" : ",") + kit::detail::json_text(std::string(parameter.name)) + ":" +
             number_or_null(kurtosis_of(source, parameter));
    }
  }
  return "{" + out + "}";
}

class ErrorDecomposition final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    int64_t block = 2048;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "the text that runs through both models").required();
      f.add("block", &Params::block, "ids per block (B), each block its own context").at_least(2);
    }
  };

  explicit ErrorDecomposition(const Params& params) : block_(params.block) {}

  uint32_t needs() const override { return QUENCH_METRIC_NEEDS_FLOAT; }
  void fits(const quench_model_info& model) const override {
    kit::check_context("block", block_, model);
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const TextBlocks text = text_blocks(evaluation.tokens("corpus"), static_cast<uint64_t>(block_));
    if (evaluation.weights().empty()) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "wanted a quantized model and its float weights");
    }
    WeightSwap swap(evaluation.subject(), evaluation.weights()[0]);
    const LayerErrors found = layer_errors(evaluation.subject(), swap, text.ids,
                                           static_cast<int64_t>(text.blocks), block_);
    write_value(found, sink);
    sink.detail("blocks", static_cast<double>(text.blocks));
    sink.detail("positions", static_cast<double>(text.blocks * text.block));
    write_layers(found, sink);
    sink.json("weight_kurtosis", weight_kurtosis(evaluation.subject(), evaluation.weights()[0]));
  }

 private:
  static void write_value(const LayerErrors& found, kit::MetricSink& sink) {
    const double size = mean_of(found.last_size);
    const double value = mean_of(found.last_error) / size;
    std::vector<double> items;
    std::vector<double> residuals;  // of the ratio
    for (size_t i = 0; i < found.last_size.size(); ++i) {
      items.push_back(found.last_error[i] / size);
      residuals.push_back((found.last_error[i] - value * found.last_size[i]) / size);
    }
    sink.value("error_decomposition", value, "1", QUENCH_LOWER_IS_BETTER,
               standard_error_of(residuals, mean_of(residuals)));
    sink.items("block_error", items);
  }

  static void write_layers(const LayerErrors& found, kit::MetricSink& sink) {
    const std::vector<LayerSums>& layers = found.layers;
    const auto list = [&](const char* name, auto of) {
      sink.json(name, over_layers(layers.size(), [&](size_t l) { return of(layers[l]); }));
    };
    sink.detail("embedding", found.embedding.error / found.embedding.size);
    list("relative_error", [](const LayerSums& s) { return s.error / s.size; });
    list("accumulated", [](const LayerSums& s) { return s.accumulated / s.size; });
    list("new", [](const LayerSums& s) { return s.added / s.size; });
    list("interaction", [](const LayerSums& s) { return 2 * s.product / s.size; });
    sink.json("gain", over_layers(layers.size(), [&](size_t l) {
                const double before = l == 0 ? found.embedding.error : layers[l - 1].error;
                return std::sqrt(layers[l].accumulated / before);
              }));
    sink.json("activation_kurtosis", over_layers(layers.size(), [&](size_t l) {
                return found.residual[l].excess_kurtosis();
              }));
  }

  int64_t block_;
};

}  // namespace

}  // namespace quench::metrics

QUENCH_MODULE("quench.error_decomposition", "0.1.0",
              quench::kit::metric<quench::metrics::ErrorDecomposition>(
                  {.id = "error_decomposition",
                   .version = "0.1.0",
                   .summary = "How much of the error after each block comes from those before it, "
                              "and how much it adds.",
                   .example = "{corpus: refinedweb, block: 2048}"}))
