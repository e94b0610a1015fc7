#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

bool is_wanted(const FigureSpec& spec, const Observation& it) {
  return spec.at == "all" || (spec.at == "last" ? it.is_last : it.position == 0);
}

size_t category_index(std::vector<std::string>& categories, const std::string& text) {
  const auto found = std::find(categories.begin(), categories.end(), text);
  if (found == categories.end()) {
    categories.push_back(text);
  }
  return static_cast<size_t>(std::find(categories.begin(), categories.end(), text) -
                             categories.begin());
}

class Bars {
 public:
  Bars(const FigureSpec& spec, Palette& palette, std::optional<SpreadKind> kind)
      : spec_(spec), palette_(palette), kind_(kind) {}

  Panel draw(const SeriesPanel& of) {
    Panel panel;
    panel.title = of.title;
    panel.has_zero = true;
    panel.y_title =
        spec_.y == "delta" ? "\u0394CE (nats/token)" : "quantization error \u0394QL (%)";
    for (const Series& series : of.quantized) {
      Trace& bars = bars_of(series.color, panel);
      for (size_t i = 0; i < series.points.size(); ++i) {
        if (is_wanted(spec_, *series.points[i])) {
          add(series, i, bars, panel);
        }
      }
    }
    std::erase_if(panel.traces, [](const Trace& trace) { return trace.x.empty(); });
    return panel;
  }

  std::string caption() const {
    std::string out = fmt::format(
        "{} of {}. ",
        spec_.y == "delta" ? "\u0394CE: loss of the quantized model minus that of the float model"
                           : "\u0394QL = L(quantized)/L(float) \u2212 1",
        spec_.at == "all"    ? "all checkpoints"
        : spec_.at == "last" ? "the last checkpoint of each branch"
                             : "the first checkpoint of each branch");
    out += spread_caption(kind_, n_low_, n_high_);
    if (n_high_ >= 2 && kind_ != SpreadKind::kItems) {
      out += " A bar with an interval is as high as the mean, one without as its single value.";
    }
    return out;
  }

  std::map<int, std::string> colors;

 private:
  Trace& bars_of(const std::string& color, Panel& panel) {
    const int index = palette_.color(color);
    for (Trace& trace : panel.traces) {
      if (trace.color == index) {
        return trace;
      }
    }
    colors[index] = color;
    Trace trace;
    trace.kind = Trace::Kind::kBar;
    trace.name = color;
    trace.color = index;
    panel.traces.push_back(std::move(trace));
    return panel.traces.back();
  }

  double y_of(const Observation& it) const {
    return spec_.y == "delta" ? it.delta() : 100 * it.error();
  }

  void add(const Series& series, size_t index, Trace& bars, Panel& panel) {
    const Observation& it = *series.points[index];
    std::string category = series.dash.empty() ? "quantized" : series.dash;
    if (spec_.at == "all") {
      category += ", " + point_text(it);
    }
    bars.x.push_back(static_cast<double>(category_index(panel.categories, category)));
    bars.texts.push_back(point_text(it));
    bars.records.push_back(it.record);
    const double factor = spec_.y == "delta" ? 1 : 100 / it.floating->value.get<double>();
    const auto spread = kind_ ? point_spread(
                                    *kind_, it, series.replicates[index],
                                    [&](const Observation& one) { return y_of(one); }, factor)
                              : std::nullopt;
    // A bar without an interval gets its height as both ends.
    bars.y.push_back(spread ? spread->mean
                            : seed_mean(series.replicates[index],
                                        [&](const Observation& one) { return y_of(one); }));
    bars.low.push_back(spread ? spread->interval->low : bars.y.back());
    bars.high.push_back(spread ? spread->interval->high : bars.y.back());
    if (spread) {
      n_low_ = n_high_ == 0 ? spread->n : std::min(n_low_, spread->n);
      n_high_ = std::max(n_high_, spread->n);
    }
  }

  const FigureSpec& spec_;
  Palette& palette_;
  std::optional<SpreadKind> kind_;
  size_t n_low_ = 0;
  size_t n_high_ = 0;
};

}  // namespace

Figure bars_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                   Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "What each method costs" : spec.title;
  const std::vector<SeriesPanel> panels = series_of(spec, observations);
  Bars bars(spec, palette, spread_kind(spec, panels));
  for (const SeriesPanel& panel : panels) {
    out.panels.push_back(bars.draw(panel));
  }
  std::erase_if(out.panels, [](const Panel& panel) { return panel.traces.empty(); });
  out.legend = legend_of(out.panels, bars.colors, {});
  out.caption = bars.caption() + mixed_machines(observations);
  return out;
}

}  // namespace quench
