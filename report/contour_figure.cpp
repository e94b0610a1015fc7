#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/figure.hpp"
#include "report/series.hpp"

namespace quench {

namespace {

using json = nlohmann::json;

bool is_numbers(const json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const json& x) { return x.is_number(); });
}

// Details come from plugins: details of another form are not a landscape.
bool has_landscape(const Record& record) {
  const json& details = record.details;
  if (!details.is_object() || !details.contains("loss") || !details.contains("points") ||
      !is_numbers(details.value("x", json())) || !is_numbers(details.value("y", json()))) {
    return false;
  }
  const json& rows = details.at("loss");
  const size_t width = details.at("x").size();
  const bool whole = rows.is_array() && rows.size() == details.at("y").size() &&
                     std::all_of(rows.begin(), rows.end(), [&](const json& row) {
                       return row.is_array() && row.size() == width;
                     });
  const json& points = details.at("points");
  return whole && points.is_array() &&
         std::all_of(points.begin(), points.end(), [](const json& point) {
           return point.is_object() && is_numbers(point.value("at", json())) &&
                  point.at("at").size() == 2 && point.value("name", json()).is_string();
         });
}

double number_or_nan(const json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

Trace losses(const json& details, bool is_line) {
  Trace out;
  out.kind = is_line ? Trace::Kind::kLine : Trace::Kind::kContour;
  out.name = "loss";
  const json& rows = details.at("loss");
  for (size_t j = 0; j < rows.size(); ++j) {
    for (size_t i = 0; i < rows[j].size(); ++i) {
      const double loss = number_or_nan(rows[j][i]);
      if (is_line && !std::isfinite(loss)) {
        continue;
      }
      out.x.push_back(details.at("x")[i].get<double>());
      out.y.push_back(is_line ? loss : details.at("y")[j].get<double>());
      (is_line ? out.low : out.z).push_back(loss);
    }
  }
  out.low.clear();
  return out;
}

// The sets of weights; joins only those of a trajectory, not corners or points of a line.
Trace places(const json& details, bool is_line, const Record& record) {
  Trace out;
  const bool is_trajectory = details.contains("singular_values");
  out.kind = is_trajectory ? Trace::Kind::kLine : Trace::Kind::kPoints;
  out.name = is_trajectory ? "checkpoints" : "corners";
  const json& points = details.at("points");
  const size_t count =
      is_trajectory ? points.size() : std::min<size_t>(points.size(), is_line ? 2 : 3);
  for (size_t i = 0; i < count; ++i) {
    const json& at = points[i].at("at");
    const double loss = number_or_nan(points[i].value("loss", json()));
    if (is_line && !std::isfinite(loss)) {
      continue;
    }
    out.x.push_back(at[0].get<double>());
    out.y.push_back(is_line ? loss : at[1].get<double>());
    out.texts.push_back(points[i].at("name").get<std::string>());
    out.records.push_back(&record);
    out.marks.emplace_back(is_trajectory && i + 1 == count ? "last" : "");
  }
  return out;
}

std::string panel_title(const Record& record) {
  const json branch = dimension_value(record, "branch");
  std::string out = branch.is_string() ? branch.get<std::string>() : "";
  for (const std::string& part :
       {record.label, record.quantizer.is_object() ? record.quantizer.value("label", "") : ""}) {
    out += (out.empty() || part.empty() ? "" : ", ") + part;
  }
  return out;
}

}  // namespace

Figure contour_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                      Palette& palette) {
  Figure out;
  out.name = spec.name;
  out.kind = spec.kind;
  out.place = spec.place;
  out.title = spec.title.empty() ? "Loss landscape" : spec.title;
  std::map<int, std::string> colors;
  for (const Observation& it : observations) {
    if (!has_landscape(*it.record) || !it.is_base()) {
      continue;
    }
    const json& details = it.record->details;
    const bool is_line = details.at("y").size() == 1;
    Panel panel;
    panel.title = panel_title(*it.record);
    panel.x_title = "distance in weight space";
    panel.y_title = is_line ? "loss (nats/token)" : "distance in weight space";
    Trace grid = losses(details, is_line);
    Trace points = places(details, is_line, *it.record);
    points.color = palette.color(points.name);
    colors[points.color] = points.name;
    if (is_line) {
      grid.color = palette.color(grid.name);
      colors[grid.color] = grid.name;
    }
    panel.traces = {std::move(grid), std::move(points)};
    out.panels.push_back(std::move(panel));
  }
  out.legend = legend_of(out.panels, colors, {});
  out.caption =
      out.panels.empty()
          ? "No metric of this run has measured a landscape, so nothing is drawn."
          : "Loss in nats per token over a plane (or along a line) through weight space; axes are "
            "orthonormal, in the units of the weights. A set of weights that does not lie in the "
            "plane is drawn where it projects to; the loss there is not its own.";
  return out;
}

}  // namespace quench
