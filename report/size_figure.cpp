#include <algorithm>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

bool is_at(const FigureSpec& spec, const Observation& it) {
  return spec.at == "all" || (spec.at == "last" ? it.is_last : it.position == 0);
}

struct SizedLoss {
  double bytes;
  double loss;
  std::string text;
  const Record* record;
};

// The points of one line from small to large, its float models the last.
std::vector<SizedLoss> sized_losses(const FigureSpec& spec, const Series& series,
                                    size_t& without_size) {
  std::vector<SizedLoss> out;
  const auto add = [&](const Record& record, double loss, const std::string& text) {
    const nlohmann::json bytes = dimension_value(record, "bytes");
    if (bytes.is_number()) {
      out.push_back({bytes.get<double>(), loss, text, &record});
    } else {
      ++without_size;
    }
  };
  std::map<std::string, bool> has_float;  // by weights
  for (size_t i = 0; i < series.points.size(); ++i) {
    const Observation& it = *series.points[i];
    if (!is_at(spec, it)) {
      continue;
    }
    const auto mean = [&](const auto& of) { return seed_mean(series.replicates[i], of); };
    const std::string name = point_text(it);
    add(*it.record, mean([](const Observation& one) { return one.value(); }),
        value_text(dimension_value(*it.record, "label")) + ", " + name);
    if (!std::exchange(has_float[it.weights], true)) {
      add(*it.floating,
          mean([](const Observation& one) { return one.floating->value.get<double>(); }),
          "float, " + name);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const SizedLoss& a, const SizedLoss& b) { return a.bytes < b.bytes; });
  return out;
}

}  // namespace

Figure size_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                   Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "Loss for the size of the stored weights" : spec.title;
  std::map<int, std::string> colors;
  std::map<int, std::string> dashes;
  size_t without_size = 0;
  const std::vector<SeriesPanel> panels = series_of(spec, observations);
  for (const SeriesPanel& of : panels) {
    Panel panel;
    panel.title = of.title;
    panel.x_title = "stored weights (bytes)";
    panel.y_title = "loss (nats/token)";
    for (const Series& series : of.quantized) {
      Trace trace;
      trace.color = palette.color(series.color);
      trace.dash = palette.dash(series.dash);
      trace.marker = series.dash.empty() ? -1 : trace.dash;
      trace.name = series.dash.empty() ? series.color : series.color + ", " + series.dash;
      for (const SizedLoss& point : sized_losses(spec, series, without_size)) {
        trace.x.push_back(point.bytes);
        trace.y.push_back(point.loss);
        trace.texts.push_back(point.text);
        trace.records.push_back(point.record);
      }
      if (!trace.x.empty()) {
        colors[trace.color] = series.color;
        dashes[trace.dash] = series.dash;
        panel.traces.push_back(std::move(trace));
      }
    }
    if (!panel.traces.empty()) {
      out.panels.push_back(std::move(panel));
    }
  }
  out.legend = legend_of(out.panels, colors, dashes);
  out.caption =
      "Loss against the bytes of all weights as they are stored: the quantized ones with their "
      "scales and zeros, the others in the checkpoint's type. Each line joins the bits of one "
      "method and ends at its float model." +
      seeds_caption(panels);
  if (without_size > 0) {
    out.caption += fmt::format(" {} points whose records hold no size are left out.", without_size);
  }
  out.caption += mixed_machines(observations);
  return out;
}

}  // namespace quench
