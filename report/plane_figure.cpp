#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

constexpr double kErrorLevels[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                   0.2,   0.5,   1,     2,    5,    10};
constexpr size_t kMostLevels = 3;

struct Range {
  double low = INFINITY;
  double high = -INFINITY;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// The line y = (1 + error) · x inside the square.
Trace guide(double error, const Range& range) {
  Trace out;
  out.kind = Trace::Kind::kGuide;
  const double end = std::min(range.high, range.high / (1 + error));
  out.x = {range.low, end};
  out.y = {range.low * (1 + error), end * (1 + error)};
  out.label = error == 0 ? "no error" : fmt::format("{:g} %", error * 100);
  out.name = error == 0 ? "quantized = float" : "\u0394QL " + out.label;
  return out;
}

// Guides at round errors in the range of the data; if there are many, only the largest.
void add_guides(const Range& errors, const Range& range, Panel& panel) {
  panel.traces.push_back(guide(0, range));
  std::vector<double> levels;
  for (const double level : kErrorLevels) {
    if (level >= errors.low / 2 && level <= errors.high && range.low * (1 + level) < range.high) {
      levels.push_back(level);
    }
  }
  if (levels.size() > kMostLevels) {
    levels.erase(levels.begin(), levels.end() - kMostLevels);
  }
  for (const double level : levels) {
    panel.traces.push_back(guide(level, range));
  }
}

}  // namespace

Figure plane_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                    Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "Float loss against quantized loss" : spec.title;
  std::map<int, std::string> colors;
  std::map<int, std::string> dashes;
  size_t outside = 0;
  for (const SeriesPanel& of : series_of(spec, observations)) {
    Panel panel;
    panel.title = of.title;
    panel.x_title = "loss of the float model (nats/token)";
    panel.y_title = "loss of the quantized model (nats/token)";
    panel.is_square = true;
    Range range;
    Range errors;
    std::vector<Trace> lines;
    for (const Series& series : of.quantized) {
      Trace trace;
      trace.color = palette.color(series.color);
      trace.dash = palette.dash(series.dash);
      colors[trace.color] = series.color;
      dashes[trace.dash] = series.dash;
      trace.name = series.dash.empty() ? series.color : series.color + ", " + series.dash;
      for (size_t i = 0; i < series.points.size(); ++i) {
        const Observation* it = series.points[i];
        trace.x.push_back(it->floating->value.get<double>());
        trace.y.push_back(it->value());
        trace.texts.push_back(point_text(*it));
        trace.records.push_back(it->record);
        const nlohmann::json mark = dimension_value(*it->record, "mark");
        trace.marks.push_back(mark.is_string() ? mark.get<std::string>()
                              : it->is_last    ? "last"
                                               : "");
        if (spec.range == "all" || 2 * i + 1 >= series.points.size() - 1) {
          range.add(trace.x.back());
          range.add(trace.y.back());
          errors.add(it->error());
        }
      }
      lines.push_back(std::move(trace));
    }
    const double margin = std::max(0.04 * (range.high - range.low), 1e-6 * std::abs(range.high));
    range = {range.low - margin, range.high + margin};
    add_guides(errors, range, panel);
    panel.low = range.low;
    panel.high = range.high;
    for (const Trace& trace : lines) {
      for (size_t i = 0; i < trace.x.size(); ++i) {
        outside += std::max(trace.x[i], trace.y[i]) > range.high ||
                           std::min(trace.x[i], trace.y[i]) < range.low
                       ? 1
                       : 0;
      }
    }
    panel.traces.insert(panel.traces.end(), lines.begin(), lines.end());
    out.panels.push_back(std::move(panel));
  }
  out.legend = legend_of(out.panels, colors, dashes);
  out.caption =
      "Each point is one set of weights, joined along the training. On the diagonal quantization "
      "costs nothing; the thin lines have equal \u0394QL. Draw 0 of each method, without bars.";
  if (out.panels.empty()) {
    out.caption += " No quantized loss has a float loss to compare with, so nothing is drawn.";
  }
  if (outside > 0) {
    out.caption += fmt::format(
        " The axes cover the later half of each line; {} earlier points are outside.", outside);
  }
  out.caption += mixed_machines(observations);
  return out;
}

}  // namespace quench
