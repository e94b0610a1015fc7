#include "report/csv.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr const char* kKinds[] = {"line",  "float", "points", "interval", "guide", "right",
                                  "strip", "join",  "bar",    "contour",  "curve"};

// Quotes a text if necessary, and makes a line break inside a name visible.
std::string field(const std::string& text) {
  std::string plain = printable(text, 4096);
  if (plain.find_first_of(",\"") == std::string::npos) {
    return plain;
  }
  std::string out = "\"";
  for (const char c : plain) {
    out += c;
    if (c == '"') {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(const std::vector<double>& values, size_t i) {
  return i < values.size() ? fmt::format("{}", values[i]) : "";
}

}  // namespace

std::string figure_csv(const Figure& figure) {
  // Numbers come first: gnuplot splits a line before it interprets quotes within quotes.
  std::string out = "panel,trace,x,y,low,high,z,kind,panel_title,name,point\n";
  for (size_t p = 0; p < figure.panels.size(); ++p) {
    const Panel& panel = figure.panels[p];
    for (size_t t = 0; t < panel.traces.size(); ++t) {
      const Trace& trace = panel.traces[t];
      for (size_t i = 0; i < trace.x.size(); ++i) {
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", p, t, number(trace.x, i),
                           number(trace.y, i), number(trace.low, i), number(trace.high, i),
                           number(trace.z, i), kKinds[static_cast<size_t>(trace.kind)],
                           field(panel.title), field(trace.name),
                           i < trace.texts.size() ? field(trace.texts[i]) : "");
      }
    }
  }
  return out;
}

std::string table_csv(const CellTable& table) {
  std::string out;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    out += (c == 0 ? "" : ",") + field(table.columns[c].title);
  }
  out += "\n";
  for (const auto& row : table.rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const nlohmann::json& value = row[c].value;
      // An interval is written as text: its mean alone would hide that there is one.
      const bool is_interval = row[c].text.find('(') != std::string::npos && value.is_number();
      out += (c == 0 ? "" : ",") + field(value.is_null()     ? ""
                                         : is_interval       ? row[c].text
                                         : value.is_string() ? value.get<std::string>()
                                                             : value.dump());
    }
    out += "\n";
  }
  return out;
}

}  // namespace quench
