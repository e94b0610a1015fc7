#include <map>
#include <tuple>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

// Identifies the quantized model of a value, for any metric.
using ModelKey = std::tuple<std::string, std::string, uint64_t, uint64_t, uint64_t>;

ModelKey model_of(const Observation& it) {
  return {it.weights, value_text(dimension_value(*it.record, "label")), it.draw, it.jitter,
          it.record->job};
}

// Accuracies of quantized models that have a float accuracy to compare with.
std::map<ModelKey, const Observation*> accuracies_of(const std::vector<Observation>& observations) {
  std::map<ModelKey, const Observation*> out;
  for (const Observation& it : observations) {
    if (is_accuracy(*it.record) && it.floating != nullptr) {
      out.emplace(model_of(it), &it);  // of several, the first in the manifest
    }
  }
  return out;
}

// The standard error of the mean difference of the items; 0 if the items differ.
double paired_error(const Observation& it) {
  const std::optional<Spread> spread = delta_spread(it);
  return spread ? *spread->standard_error : 0;
}

}  // namespace

Figure accuracy_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                       Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "What quantization costs in accuracy and in loss" : spec.title;
  const auto accuracies = accuracies_of(observations);
  std::map<int, std::string> colors;
  std::map<int, std::string> dashes;
  for (const SeriesPanel& of : series_of(spec, observations)) {
    Panel panel;
    panel.title = of.title;
    panel.has_zero = true;
    panel.x_title = "\u0394CE (nats/token)";
    panel.y_title = "accuracy lost (percentage points)";
    for (const Series& series : of.quantized) {
      Trace points;
      points.kind = Trace::Kind::kPoints;
      points.color = palette.color(series.color);
      points.dash = palette.dash(series.dash);
      points.marker = series.dash.empty() ? -1 : points.dash;
      points.name = series.dash.empty() ? series.color : series.color + ", " + series.dash;
      Trace bars = points;
      bars.kind = Trace::Kind::kInterval;
      for (const Observation* it : series.points) {
        const auto found = accuracies.find(model_of(*it));
        if (found == accuracies.end()) {
          continue;
        }
        const double lost = -100 * found->second->delta();
        const double error = 100 * paired_error(*found->second);
        points.x.push_back(it->delta());
        points.y.push_back(lost);
        points.texts.push_back(point_text(*it));
        points.records.push_back(found->second->record);
        bars.x.push_back(it->delta());
        bars.y.push_back(lost);
        bars.low.push_back(lost - error);
        bars.high.push_back(lost + error);
      }
      if (!points.x.empty()) {
        colors[points.color] = series.color;
        dashes[points.dash] = series.dash;
        panel.traces.push_back(std::move(bars));
        panel.traces.push_back(std::move(points));
      }
    }
    if (!panel.traces.empty()) {
      out.panels.push_back(std::move(panel));
    }
  }
  out.legend = legend_of(out.panels, colors, dashes);
  out.caption =
      "Each point is one quantized model: how much its loss rose and its accuracy fell "
      "against the float model. Bars: one standard error over questions, paired with the float "
      "model's. They do not cover other questions, other tasks, calibration data, or training "
      "runs.";
  if (out.panels.empty()) {
    out.caption += " No quantized model has both a loss and an accuracy, so nothing is drawn.";
  }
  out.caption += mixed_machines(observations);
  return out;
}

}  // namespace quench
