#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

enum class Axis { kTokens, kStep, kPosition };

// The first axis that all checkpoints have a place on, unless the spec names one.
Axis axis_of(const FigureSpec& spec, const std::vector<SeriesPanel>& panels) {
  if (spec.x != "auto") {
    return spec.x == "tokens" ? Axis::kTokens : spec.x == "step" ? Axis::kStep : Axis::kPosition;
  }
  bool tokens = true;
  bool steps = true;
  for (const SeriesPanel& panel : panels) {
    for (const Series& series : panel.quantized) {
      for (const Observation* it : series.points) {
        tokens = tokens && dimension_value(*it->record, "tokens").is_number();
        steps = steps && dimension_value(*it->record, "step").is_number();
      }
    }
  }
  return tokens ? Axis::kTokens : steps ? Axis::kStep : Axis::kPosition;
}

std::optional<double> x_of(const Observation& it, Axis axis) {
  if (axis == Axis::kPosition) {
    return static_cast<double>(it.position + 1);
  }
  const nlohmann::json x = dimension_value(*it.record, axis == Axis::kTokens ? "tokens" : "step");
  return x.is_number() ? std::optional(x.get<double>()) : std::nullopt;
}

const char* axis_title(Axis axis) {
  return axis == Axis::kTokens ? "training tokens"
         : axis == Axis::kStep ? "training step"
                               : "checkpoint, by its position in the branch";
}

class Curves {
 public:
  Curves(const FigureSpec& spec, const std::vector<Observation>& observations, Palette& palette)
      : spec_(spec),
        palette_(palette),
        observations_(observations),
        panels_(series_of(spec, observations)),
        axis_(axis_of(spec, panels_)) {
    if (spec.kind == FigureKind::kErrorVsTokens) {
      bars_ = spread_kind(spec, panels_);
    }
  }

  Figure figure(const std::vector<Observation>& observations) {
    Figure out;
    out.name = spec_.name;
    out.kind = spec_.kind;
    out.place = spec_.place;
    out.title = spec_.title.empty() ? default_title() : spec_.title;
    for (const SeriesPanel& panel : panels_) {
      out.panels.push_back(draw(panel));
    }
    out.legend = legend_of(out.panels, colors_, dashes_);
    out.caption = caption() + mixed_machines(observations);
    return out;
  }

 private:
  bool is_loss_figure() const { return spec_.kind == FigureKind::kLossVsTokens; }

  std::string default_title() const {
    const char* what = is_loss_figure() ? "Validation loss" : "Quantization error";
    return fmt::format("{} along the training", what);
  }

  double y_of(const Observation& it) const {
    return is_loss_figure() ? it.value() : spec_.y == "delta" ? it.delta() : 100 * it.error();
  }

  // One nat per token, converted to the unit of the y axis.
  double item_factor(const Observation& it) const {
    return spec_.y == "delta" ? 1 : 100 / it.floating->value.get<double>();
  }

  Panel draw(const SeriesPanel& panel) {
    Panel out;
    out.title = panel.title;
    out.x_title = axis_title(axis_);
    out.y_title = is_loss_figure()     ? "loss (nats/token)"
                  : spec_.y == "delta" ? "\u0394CE (nats/token)"
                                       : "quantization error \u0394QL (%)";
    if (!spec_.right.empty()) {
      draw_right(panel, out);
    }
    out.has_zero = !is_loss_figure();
    if (is_loss_figure()) {
      draw_branches(panel.floating, Trace::Kind::kFloat, out);
    }
    draw_branches(panel.quantized, Trace::Kind::kLine, out);
    return out;
  }

  void draw_branches(const std::vector<Series>& all, Trace::Kind kind, Panel& out) {
    const std::vector<Series> branches = by_branch(all);
    for (const Series& fork : branches) {
      if (const auto parent = fork_of(fork, branches)) {
        draw_join(branches[parent->first], parent->second, fork, kind, out);
      }
    }
    for (const Series& series : branches) {
      draw_series(series, kind, out);
    }
  }

  void draw_join(const Series& parent, size_t point, const Series& fork, Trace::Kind kind,
                 Panel& out) {
    Trace trace;
    trace.kind = Trace::Kind::kJoin;
    trace.color = palette_.color(fork.color);
    trace.dash = kind == Trace::Kind::kLine ? palette_.dash(fork.dash) : 0;
    trace.name = fork.color + ", from its parent";
    const std::pair<const Series*, size_t> ends[] = {{&parent, point}, {&fork, 0}};
    for (const auto& [series, i] : ends) {
      if (const std::optional<double> x = x_of(*series->points[i], axis_)) {
        trace.x.push_back(*x);
        trace.y.push_back(
            seed_mean(series->replicates[i], [&](const Observation& one) { return y_of(one); }));
      }
    }
    if (trace.x.size() == 2 && axis_ != Axis::kPosition) {
      out.traces.push_back(std::move(trace));
    }
  }

  void draw_series(const Series& series, Trace::Kind kind, Panel& out) {
    Trace trace;
    trace.kind = kind;
    trace.color = palette_.color(series.color);
    colors_[trace.color] = series.color;
    if (kind == Trace::Kind::kLine) {
      trace.dash = palette_.dash(series.dash);
      trace.marker = series.dash.empty() ? -1 : trace.dash;
      dashes_[trace.dash] = series.dash;
    }
    trace.name = kind == Trace::Kind::kFloat ? series.color + ", float"
                 : series.dash.empty()       ? series.color
                                             : series.color + ", " + series.dash;
    Trace intervals = trace;
    intervals.kind = Trace::Kind::kInterval;
    for (size_t i = 0; i < series.points.size(); ++i) {
      const Observation& it = *series.points[i];
      const std::optional<double> x = x_of(it, axis_);
      if (!x) {
        ++without_x_;
        continue;
      }
      trace.x.push_back(*x);
      trace.y.push_back(
          seed_mean(series.replicates[i], [&](const Observation& one) { return y_of(one); }));
      trace.texts.push_back(point_text(it));
      trace.records.push_back(it.record);
      const nlohmann::json mark = dimension_value(*it.record, "mark");
      trace.marks.push_back(kind == Trace::Kind::kLine && mark.is_string() ? mark.get<std::string>()
                                                                           : std::string());
      if (bars_ && kind == Trace::Kind::kLine) {
        add_interval(it, series.replicates[i], *x, intervals);
      }
    }
    out.traces.push_back(std::move(trace));
    if (!intervals.x.empty()) {
      out.traces.push_back(std::move(intervals));
    }
  }

  void add_interval(const Observation& it, const std::vector<const Observation*>& replicates,
                    double x, Trace& intervals) {
    const auto spread = point_spread(
        *bars_, it, replicates, [&](const Observation& one) { return y_of(one); }, item_factor(it));
    if (!spread) {
      return;
    }
    n_low_ = n_high_ == 0 ? spread->n : std::min(n_low_, spread->n);
    n_high_ = std::max(n_high_, spread->n);
    intervals.x.push_back(x);
    intervals.y.push_back(spread->mean);
    intervals.low.push_back(spread->interval->low);
    intervals.high.push_back(spread->interval->high);
    intervals.texts.push_back(point_text(it));
    intervals.records.push_back(it.record);
  }

  // Draws one line per colour: the learning rate (of checkpoints, not of averages) in a strip under
  // the panel, which no other curve crosses, any other value on the right axis.
  void draw_right(const SeriesPanel& panel, Panel& out) {
    const bool is_rate = spec_.right == "lr";
    const std::string what = is_rate ? "learning rate" : spec_.right;
    for (const Series& series :
         by_branch(panel.floating.empty() ? panel.quantized : panel.floating)) {
      Trace trace;
      trace.kind = is_rate ? Trace::Kind::kStrip : Trace::Kind::kRight;
      trace.name = series.color + ", " + what;
      trace.color = palette_.color(series.color);
      for (size_t i = 0; i < series.points.size(); ++i) {
        const Observation* it = series.points[i];
        const std::optional<double> x = x_of(*it, axis_);
        const std::optional<double> y = is_rate ? rate_of(*it) : right_mean(series.replicates[i]);
        if (x && y) {
          trace.x.push_back(*x);
          trace.y.push_back(*y);
          trace.texts.push_back(point_text(*it));
          trace.records.push_back(it->record);
        }
      }
      if (!trace.x.empty()) {
        (is_rate ? out.strip_title : out.right_title) = what;
        out.traces.push_back(std::move(trace));
      }
    }
  }

  static std::optional<double> rate_of(const Observation& it) {
    const nlohmann::json rate = dimension_value(*it.record, "lr");
    return it.record->averaging.is_null() && rate.is_number() ? std::optional(rate.get<double>())
                                                              : std::nullopt;
  }

  // The mean over the seeds that have a value.
  std::optional<double> right_mean(const std::vector<const Observation*>& replicates) {
    double sum = 0;
    size_t count = 0;
    for (const Observation* it : replicates) {
      const std::optional<double> value = it->is_base() ? right_value(*it) : std::nullopt;
      sum += value.value_or(0);
      count += value ? 1 : 0;
    }
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
  }

  // The float model's value for the right axis, on the same weights.
  std::optional<double> right_value(const Observation& it) {
    for (const Observation& other : observations_) {
      if (other.is_float() && other.weights == it.weights && other.seed == it.seed &&
          is_value_of(*other.record, spec_.right)) {
        found_right_ = true;
        return other.value();
      }
    }
    return std::nullopt;
  }

  std::string caption() const {
    std::string out =
        is_loss_figure() ? "Loss of the float model and of the quantized models, in nats per token."
        : spec_.y == "delta"
            ? "\u0394CE: loss of the quantized model minus that of the float model on the same "
              "weights, in nats per token."
            : "\u0394QL = L(quantized)/L(float) \u2212 1, on the same weights and validation data.";
    if (panels_.empty()) {
      return out + " No quantized loss has a float loss to compare with, so nothing is drawn.";
    }
    if (spec_.kind == FigureKind::kErrorVsTokens) {
      out += " " + spread_caption(bars_, n_low_, n_high_);
    }
    out += seeds_caption(panels_);
    if (found_right_) {
      out += fmt::format(" Dotted, on the right axis: {} of the float model.", spec_.right);
    } else if (!spec_.right.empty() && spec_.right != "lr") {
      out += fmt::format(" The float models have no value of {}.", printable(spec_.right));
    }
    if (axis_ == Axis::kPosition && spec_.x == "auto") {
      out +=
          " Not all checkpoints have a step or a number of tokens: they are drawn in the order "
          "of their branch.";
    }
    if (without_x_ > 0) {
      out += fmt::format(" {} points without {} are left out.", without_x_, axis_title(axis_));
    }
    return out;
  }

  const FigureSpec& spec_;
  Palette& palette_;
  const std::vector<Observation>& observations_;
  bool found_right_ = false;
  std::vector<SeriesPanel> panels_;
  Axis axis_;
  std::optional<SpreadKind> bars_;
  size_t n_low_ = 0;
  size_t n_high_ = 0;
  size_t without_x_ = 0;
  std::map<int, std::string> colors_;
  std::map<int, std::string> dashes_;
};

}  // namespace

int Palette::index(std::vector<std::string>& list, const std::string& text) {
  const auto found = std::find(list.begin(), list.end(), text);
  if (found == list.end()) {
    list.push_back(text);
    return static_cast<int>(list.size()) - 1;
  }
  return static_cast<int>(found - list.begin());
}

Figure curve_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                    Palette& palette) {
  return Curves(spec, observations, palette).figure(observations);
}

}  // namespace quench
