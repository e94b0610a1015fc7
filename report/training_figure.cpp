#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"
#include "report/training_log.hpp"

namespace quench {

namespace {

constexpr size_t kMostPoints = 1000;  // of a line

// Means over runs of `width` neighbours.
std::vector<double> thinned(const std::vector<double>& values, size_t width) {
  std::vector<double> out;
  for (size_t first = 0; first < values.size(); first += width) {
    const size_t end = std::min(values.size(), first + width);
    double sum = 0;
    for (size_t i = first; i < end; ++i) {
      sum += values[i];
    }
    out.push_back(sum / static_cast<double>(end - first));
  }
  return out;
}

}  // namespace

Figure training_figure(const FigureSpec& spec, const std::vector<TrainingCurve>& curves,
                       Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "Loss of the training" : spec.title;
  Panel panel;
  panel.x_title = spec.x == "step" ? "training step" : "training tokens";
  panel.y_title = "loss of the batch (nats/token)";
  panel.strip_title = "learning rate";
  std::map<int, std::string> colors;
  size_t widest = 1;
  for (const TrainingCurve& curve : curves) {
    const size_t width = (curve.step.size() + kMostPoints - 1) / kMostPoints;
    widest = std::max(widest, width);
    Trace loss;
    loss.kind = Trace::Kind::kCurve;
    loss.name = curve.name;
    loss.color = palette.color(curve.name);
    loss.x = thinned(spec.x == "step" ? curve.step : curve.tokens, width);
    loss.y = thinned(curve.loss, width);
    colors[loss.color] = curve.name;
    Trace rate = loss;
    rate.kind = Trace::Kind::kStrip;
    rate.name = curve.name + ", learning rate";
    rate.y = thinned(curve.rate, width);
    panel.traces.push_back(std::move(loss));
    panel.traces.push_back(std::move(rate));
  }
  if (!panel.traces.empty()) {
    out.panels.push_back(std::move(panel));
  }
  out.legend = legend_of(out.panels, colors, {});
  for (LegendEntry& entry : out.legend) {
    entry.marker = -1;  // the lines have none
  }
  out.caption = "Mean loss of each step's batch in the training, before its update.";
  if (widest > 1) {
    out.caption += fmt::format(" Each point is the mean of up to {} steps.", widest);
  }
  if (curves.empty()) {
    out.caption += " The run has trained nothing, so nothing is drawn.";
  }
  return out;
}

}  // namespace quench
