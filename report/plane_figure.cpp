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
constexpr double kLabelHeight = 0.06;  // of a guide's label, in widths of the panel
constexpr double kLabelRoom = 0.12;    // left of the data, where the labels of guides stand

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

// From the point of the parent to the first one of the fork.
Trace join(const Trace& parent, size_t point, const Trace& fork) {
  Trace out;
  out.kind = Trace::Kind::kJoin;
  out.color = fork.color;
  out.dash = fork.dash;
  out.name = fork.name + ", from its parent";
  out.x = {parent.x[point], fork.x[0]};
  out.y = {parent.y[point], fork.y[0]};
  return out;
}

// Guides at round errors in the range of the data; if there are many, only the largest, and of
// those whose labels would touch at the left edge the larger.
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
  double above = range.high;  // where the guide above begins
  std::vector<double> apart;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const double begin = range.low * (1 + *level);
    const double least = kLabelHeight * (range.high - range.low);
    if (above - begin >= least && begin - range.low >= least) {
      apart.push_back(*level);
      above = begin;
    }
  }
  for (auto level = apart.rbegin(); level != apart.rend(); ++level) {
    panel.traces.push_back(guide(*level, range));
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
  const std::vector<SeriesPanel> panels = series_of(spec, observations);
  for (const SeriesPanel& of : panels) {
    Panel panel;
    panel.title = of.title;
    panel.x_title = "loss of the float model (nats/token)";
    panel.y_title = "loss of the quantized model (nats/token)";
    panel.is_square = true;
    Range range;
    Range errors;
    std::vector<Trace> lines;
    const std::vector<Series> branches = by_branch(of.quantized);
    for (const Series& series : branches) {
      Trace trace;
      trace.color = palette.color(series.color);
      trace.dash = palette.dash(series.dash);
      trace.marker = series.dash.empty() ? -1 : trace.dash;
      colors[trace.color] = series.color;
      dashes[trace.dash] = series.dash;
      trace.name = series.dash.empty() ? series.color : series.color + ", " + series.dash;
      for (size_t i = 0; i < series.points.size(); ++i) {
        const Observation* it = series.points[i];
        trace.x.push_back(seed_mean(series.replicates[i], [](const Observation& one) {
          return one.floating->value.get<double>();
        }));
        trace.y.push_back(
            seed_mean(series.replicates[i], [](const Observation& one) { return one.value(); }));
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
    range = {range.low - std::max(margin, kLabelRoom * (range.high - range.low)),
             range.high + margin};
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
    for (size_t i = 0; i < branches.size(); ++i) {
      if (const auto parent = fork_of(branches[i], branches)) {
        panel.traces.push_back(join(lines[parent->first], parent->second, lines[i]));
      }
    }
    panel.traces.insert(panel.traces.end(), lines.begin(), lines.end());
    out.panels.push_back(std::move(panel));
  }
  out.legend = legend_of(out.panels, colors, dashes);
  out.caption =
      "Each point is one set of weights, joined along the training. On the diagonal quantization "
      "costs nothing; the thin lines have equal \u0394QL. Draw 0 of each method, without bars.";
  out.caption += seeds_caption(panels);
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
