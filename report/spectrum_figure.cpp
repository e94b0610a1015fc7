#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

using json = nlohmann::json;

constexpr size_t kGrid = 500;             // points of a curve besides its nodes
constexpr double kBroadening = 0.004;     // standard deviation of a node, as a share of the range
constexpr double kSmallestWeight = 1e-9;  // smaller weights are rounding errors of the quadrature

struct Density {
  const Observation* of;
  std::vector<double> values;
  std::vector<double> weights;
};

// Details come from plugins: details of another form are not a density.
std::optional<Density> density_of(const Observation& it) {
  const json& details = it.record->details;
  if (!details.is_object() || !details.contains("density")) {
    return std::nullopt;
  }
  const json& density = details.at("density");
  const auto numbers = [&](const char* name) {
    std::vector<double> out;
    if (density.is_object() && density.contains(name) && density.at(name).is_array()) {
      for (const json& value : density.at(name)) {
        out.push_back(value.is_number() ? value.get<double>() : std::nan(""));
      }
    }
    return out;
  };
  Density out{&it, numbers("values"), numbers("weights")};
  const auto usable = [](double value) { return std::isfinite(value); };
  if (out.values.empty() || out.values.size() != out.weights.size() ||
      !std::all_of(out.values.begin(), out.values.end(), usable) ||
      !std::all_of(out.weights.begin(), out.weights.end(), usable)) {
    return std::nullopt;
  }
  return out;
}

bool is_shown(const Observation& it, const std::string& at) {
  return it.is_base() && (at == "all" || (at == "last" ? it.is_last : it.position == 0));
}

std::string words_of(const std::vector<std::string>& dimensions, const Observation& it) {
  std::vector<std::string> words;
  for (const std::string& name : dimensions) {
    const json value = dimension_value(*it.record, name);
    if (!value.is_null()) {
      words.push_back(name == "branch" || name == "checkpoint" ? value_text(value)
                                                               : dimension_text(name, value));
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// The curves of a panel share grid, node width and floor, so that they can be compared.
class Curves {
 public:
  explicit Curves(const std::vector<Density>& densities) {
    double least = INFINITY;
    for (const Density& density : densities) {
      for (size_t i = 0; i < density.values.size(); ++i) {
        low_ = std::min(low_, density.values[i]);
        high_ = std::max(high_, density.values[i]);
        least = density.weights[i] >= kSmallestWeight ? std::min(least, density.weights[i]) : least;
      }
    }
    deviation_ = kBroadening * (high_ > low_ ? high_ - low_ : 1.0);
    low_ -= 5 * deviation_;
    high_ += 5 * deviation_;
    floor_ = (std::isfinite(least) ? least : 1.0) * peak() / 10;
  }

  double floor() const { return floor_; }

  double at(const Density& density, double x) const {
    double sum = 0;
    for (size_t i = 0; i < density.values.size(); ++i) {
      const double distance = (x - density.values[i]) / deviation_;
      sum += density.weights[i] * peak() * std::exp(-distance * distance / 2);
    }
    return std::max(sum, floor_);
  }

  // Samples a regular grid and the nodes themselves, whose peaks a grid would miss.
  Trace curve(const Density& density) const {
    Trace out;
    out.kind = Trace::Kind::kCurve;
    for (size_t i = 0; i <= kGrid; ++i) {
      out.x.push_back(low_ + (high_ - low_) * static_cast<double>(i) / kGrid);
    }
    out.x.insert(out.x.end(), density.values.begin(), density.values.end());
    std::sort(out.x.begin(), out.x.end());
    for (const double x : out.x) {
      out.y.push_back(at(density, x));
    }
    out.texts.assign(out.x.size(), point_text(*density.of));
    return out;
  }

  // The marker of a curve: the largest eigenvalue that the quadrature has found.
  Trace end(const Density& density) const {
    Trace out;
    out.kind = Trace::Kind::kPoints;
    for (size_t i = 0; i < density.values.size(); ++i) {
      if (density.weights[i] >= kSmallestWeight &&
          (out.x.empty() || density.values[i] > out.x[0])) {
        out.x = {density.values[i]};
      }
    }
    for (const double x : out.x) {
      out.y.push_back(at(density, x));
      out.texts.push_back(point_text(*density.of));
      out.records.push_back(density.of->record);
    }
    return out;
  }

 private:
  double peak() const { return 1 / (deviation_ * std::sqrt(2 * std::numbers::pi)); }

  double low_ = INFINITY;
  double high_ = -INFINITY;
  double deviation_ = 1;
  double floor_ = 0;
};

}  // namespace

Figure spectrum_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                       Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "Spectral density" : spec.title;
  std::map<std::string, std::vector<Density>> by_panel;
  std::vector<std::string> order;
  for (const Observation& it : observations) {
    std::optional<Density> density = is_shown(it, spec.at) ? density_of(it) : std::nullopt;
    if (density) {
      const std::string title = words_of(spec.panels, it);
      if (by_panel.count(title) == 0) {
        order.push_back(title);
      }
      by_panel[title].push_back(std::move(*density));
    }
  }
  std::map<int, std::string> colors;
  std::map<int, std::string> dashes;
  for (const std::string& title : order) {
    Panel panel;
    panel.title = title;
    panel.x_title = "eigenvalue (nats/token)";
    panel.y_title = "density";
    panel.is_log = true;
    const Curves curves(by_panel.at(title));
    panel.low = curves.floor();
    for (const Density& density : by_panel.at(title)) {
      const json averaging = dimension_value(*density.of->record, "averaging");
      std::string color = words_of(spec.lines, *density.of);
      color += averaging.is_null() ? "" : (color.empty() ? "" : ", ") + value_text(averaging);
      color = color.empty() ? "checkpoints" : color;
      const std::string dash =
          density.of->is_float() ? "" : value_text(dimension_value(*density.of->record, "label"));
      for (Trace trace : {curves.curve(density), curves.end(density)}) {
        trace.color = palette.color(color);
        trace.dash = dash.empty() ? 0 : palette.dash(dash);
        trace.name = dash.empty() ? color : color + ", " + dash;
        colors[trace.color] = color;
        dashes[trace.dash] = dash;
        panel.traces.push_back(std::move(trace));
      }
    }
    out.panels.push_back(std::move(panel));
  }
  out.legend = legend_of(out.panels, colors, dashes);
  out.caption =
      out.panels.empty()
          ? "No metric of this run has measured a spectral density, so nothing is drawn."
          : fmt::format(
                "Density of the eigenvalues by stochastic Lanczos quadrature, {} of each line; of "
                "several sets of sequences the first. Each node is drawn as a Gaussian whose "
                "standard deviation is {:g} % of the range; a curve has area 1, and one eigenvalue "
                "of n the share 1/n. Markers: the largest one seen.",
                spec.at == "all" ? "every checkpoint" : "the " + spec.at + " checkpoint",
                100 * kBroadening);
  return out;
}

}  // namespace quench
