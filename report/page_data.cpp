#include "report/page_data.hpp"

#include <nlohmann/json.hpp>

#include "report/report.hpp"
#include "report/style.hpp"

namespace quench {

namespace {

nlohmann::json legend_json(const Figure& figure) {
  constexpr const char* kKinds[] = {"color", "dash", "float", "right", "interval", "mark"};
  nlohmann::json out = nlohmann::json::array();
  for (const LegendEntry& entry : figure.legend) {
    out.push_back({{"kind", kKinds[static_cast<size_t>(entry.kind)]},
                   {"index", entry.index},
                   {"text", entry.text},
                   {"mark", entry.mark},
                   {"marker", entry.marker}});
  }
  return out;
}

nlohmann::json trace_json(const Trace& trace, const CellTable& cells) {
  constexpr const char* kKinds[] = {"line",  "float", "points", "interval", "guide", "right",
                                    "strip", "join",  "bar",    "contour",  "curve"};
  nlohmann::json rows = nlohmann::json::array();
  for (const Record* record : trace.records) {
    const auto row = cells.row_of.find(record);
    rows.push_back(row == cells.row_of.end() ? nlohmann::json() : nlohmann::json(row->second));
  }
  return {{"kind", kKinds[static_cast<size_t>(trace.kind)]},
          {"name", trace.name},
          {"label", trace.label},
          {"color", trace.color},
          {"dash", trace.dash},
          {"marker", trace.marker < 0 ? trace.color : trace.marker},
          {"x", trace.x},
          {"y", trace.y},
          {"low", trace.low},
          {"high", trace.high},
          {"z", trace.z},
          {"texts", trace.texts},
          {"marks", trace.marks},
          {"rows", rows}};
}

}  // namespace

nlohmann::json page_data(const Report& report) {
  nlohmann::json figures = nlohmann::json::array();
  for (const Figure& figure : report.figures) {
    nlohmann::json panels = nlohmann::json::array();
    for (const Panel& panel : figure.panels) {
      nlohmann::json traces = nlohmann::json::array();
      for (const Trace& trace : panel.traces) {
        traces.push_back(trace_json(trace, report.cells));
      }
      panels.push_back({{"title", panel.title},
                        {"x", panel.x_title},
                        {"y", panel.y_title},
                        {"right", panel.right_title},
                        {"strip", panel.strip_title},
                        {"zero", panel.has_zero},
                        {"categories", panel.categories},
                        {"square", panel.is_square},
                        {"log", panel.is_log},
                        {"range", {panel.low, panel.high}},
                        {"traces", traces}});
    }
    figures.push_back({{"name", figure.name}, {"legend", legend_json(figure)}, {"panels", panels}});
  }
  nlohmann::json colors = nlohmann::json::array();
  for (const ColorStyle& style : kColors) {
    colors.push_back(
        {{"light", style.color}, {"dark", style.dark_color}, {"marker", style.marker}});
  }
  nlohmann::json dashes = nlohmann::json::array();
  for (const DashStyle& style : kDashes) {
    dashes.push_back({{"dash", style.dash}, {"open", style.is_open}, {"pattern", style.pattern}});
  }
  return {{"name", report.documents.name},
          {"figures", figures},
          {"colors", colors},
          {"dashes", dashes}};
}

}  // namespace quench
