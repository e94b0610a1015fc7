#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/io/sha256.hpp"
#include "core/version.hpp"
#include "report/assets.hpp"
#include "report/dimension.hpp"
#include "report/report.hpp"
#include "report/style.hpp"

namespace quench {

namespace {

constexpr size_t kMaxRows = 4000;  // of the table of cells: about 2 MB of page

// 'sha256-...' of a script, for a Content-Security-Policy.
std::string script_hash(std::string_view script) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256_hex(script);
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bits = (bits << 8) | static_cast<uint32_t>(std::stoul(hex.substr(i, 2), nullptr, 16));
    for (held += 8; held >= 6; held -= 6) {
      out += kDigits[(bits >> (held - 6)) & 63];
    }
  }
  out += kDigits[(bits << (6 - held)) & 63];  // 32 bytes leave 4 bits
  return "'sha256-" + out + "='";
}

nlohmann::json legend_json(const Figure& figure) {
  constexpr const char* kKinds[] = {"color", "dash", "float", "right", "interval", "mark"};
  nlohmann::json out = nlohmann::json::array();
  for (const LegendEntry& entry : figure.legend) {
    out.push_back({{"kind", kKinds[static_cast<size_t>(entry.kind)]},
                   {"index", entry.index},
                   {"text", entry.text},
                   {"mark", entry.mark}});
  }
  return out;
}

nlohmann::json trace_json(const Trace& trace, const CellTable& cells) {
  constexpr const char* kKinds[] = {"line",  "float", "points",  "interval", "guide",
                                    "right", "bar",   "contour", "curve"};
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
          {"x", trace.x},
          {"y", trace.y},
          {"low", trace.low},
          {"high", trace.high},
          {"z", trace.z},
          {"texts", trace.texts},
          {"marks", trace.marks},
          {"rows", rows}};
}

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

std::string summary(const Report& report) {
  std::set<std::string> weights, methods;
  for (const Observation& it : report.observations.all) {
    weights.insert(it.weights);
    if (!it.is_float()) {
      methods.insert(value_text(dimension_value(*it.record, "label")));
    }
  }
  const size_t failed = report.observations.failed.size();
  const auto counted = [](size_t count, const char* one, const char* several) {
    return fmt::format("{} {}", count, count == 1 ? one : several);
  };
  std::string out = counted(weights.size(), "set of weights", "sets of weights") + ", " +
                    counted(methods.size(), "method", "methods") + ", " +
                    counted(report.observations.all.size(), "value", "values");
  out += failed == 0 ? "." : fmt::format("; <a href=\"#failed\">{} failed</a>.", failed);
  if (!report.health.empty()) {
    out += fmt::format(" <a href=\"#health\">{} to know</a>.",
                       counted(report.health.size(), "thing", "things"));
  }
  return out;
}

// The line of the user's manifest that asks for figure i; 0 if none does.
std::vector<int> figure_lines(const RunDocuments& documents) {
  std::vector<int> out;
  try {
    const YamlNode root = parse_yaml(documents.manifest_text, "manifest.yaml");
    const YamlNode* section = root.find("report");
    const YamlNode* figures = section != nullptr ? section->find("figures") : nullptr;
    for (size_t i = 0; figures != nullptr && i < figures->items.size(); ++i) {
      out.push_back(figures->items[i].place.line);
    }
  } catch (const Error&) {
    out.clear();  // no text, or no valid YAML: then there is no line to link to
  }
  return out;
}

std::string figure_html(const Figure& figure, size_t index, int line) {
  std::string out = fmt::format(
      "<figure id=\"figure-{0}\"><h2>{1}</h2><div class=\"legend\" data-figure=\"{2}\"></div>"
      "<div class=\"panels\">",
      escape_html(figure.name), escape_html(figure.title), index);
  for (size_t p = 0; p < figure.panels.size(); ++p) {
    const Panel& panel = figure.panels[p];
    out += fmt::format(
        "<div class=\"panel{}\"><h3>{}</h3><div class=\"plot\" role=\"img\" "
        "aria-label=\"{}\" data-figure=\"{}\" data-panel=\"{}\"></div></div>",
        panel.is_square ? " square" : "", escape_html(panel.title),
        escape_html(figure.title + ", " + panel.title), index, p);
  }
  out += fmt::format(
      "</div><figcaption>{} <span class=\"source\">Data: <a href=\"#cells\">the cells "
      "below</a>; as files: <code>quench report --format csv --figure {}</code>.",
      escape_html(figure.caption), escape_html(figure.name));
  if (line > 0) {
    out += fmt::format(" Asked for in <a href=\"#m{0}\">line {0} of the manifest</a>.", line);
  }
  return out + "</span></figcaption></figure>\n";
}

std::string interval_cells(const ContrastRow& row) {
  std::string out;
  for (const SpreadKind kind : kSpreadKinds) {
    const auto found = std::find_if(row.spreads.begin(), row.spreads.end(),
                                    [&](const Spread& spread) { return spread.kind == kind; });
    out +=
        found == row.spreads.end()
            ? "<td></td>"
            : fmt::format(
                  "<td class=\"n\" data-v=\"{}\">{:+.4f} [{:+.4f}, {:+.4f}] <small>n = "
                  "{}</small></td>",
                  found->mean, found->mean, found->interval->low, found->interval->high, found->n);
  }
  return out;
}

std::string contrasts_html(const Report& report) {
  if (report.contrasts.empty()) {
    return "";
  }
  std::string out =
      "<section id=\"contrasts\"><h2>Contrasts</h2><p>Paired differences of \u0394CE in nats per "
      "token: negative means that the first costs less. Intervals are 95 % t intervals of the mean "
      "difference, one for each kind of replicate; they are never mixed.</p>\n";
  for (const Contrast& contrast : report.contrasts) {
    out += fmt::format("<h3>{} \u2212 {}</h3>", escape_html(contrast.spec.a.name),
                       escape_html(contrast.spec.b.name));
    if (!contrast.summary.empty()) {
      out += "<p>" + escape_html(contrast.summary) + "</p>";
    }
    for (const std::string& problem : contrast.problems) {
      out += "<p class=\"bad\">Not compared: " + escape_html(problem) + ".</p>";
    }
    if (contrast.rows.empty()) {
      continue;
    }
    out +=
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>where</th><th "
        "class=\"n\">\u0394CE difference</th><th class=\"n\">bits/byte</th><th class=\"n\">over "
        "items</th><th class=\"n\">over draws</th><th class=\"n\">over jitter</th><th "
        "class=\"n\">over seeds</th></tr></thead><tbody>";
    for (const ContrastRow& row : contrast.rows) {
      out += fmt::format("<tr><td>{}</td><td class=\"n\" data-v=\"{}\">{:+.4f}</td>",
                         escape_html(row.what), row.difference, row.difference);
      out += row.bits_per_byte ? fmt::format("<td class=\"n\" data-v=\"{}\">{:+.4f}</td>",
                                             *row.bits_per_byte, *row.bits_per_byte)
                               : "<td></td>";
      out += interval_cells(row) + "</tr>";
    }
    out += "</tbody></table></div><details><summary>In words</summary><ul>";
    for (const ContrastRow& row : contrast.rows) {
      out += "<li>" + escape_html(row.sentence) + "</li>";
    }
    out += "</ul></details>\n";
  }
  return out + "</section>\n";
}

std::string failed_html(const Report& report) {
  if (report.observations.failed.empty()) {
    return "";
  }
  std::string out =
      "<section id=\"failed\"><h2>Failed cells</h2><div class=\"scroll\"><table class=\"sortable\">"
      "<thead><tr><th>branch</th><th>checkpoint</th><th>averaging</th><th>method</th><th>metric"
      "</th><th>error</th></tr></thead><tbody>";
  for (const Record* record : report.observations.failed) {
    out += "<tr>";
    for (const char* name : {"branch", "checkpoint", "averaging"}) {
      const nlohmann::json value = dimension_value(*record, name);
      out += "<td>" + (value.is_null() ? "" : escape_html(value_text(value))) + "</td>";
    }
    const std::string method =
        record->quantizer.is_null() ? "float" : value_text(dimension_value(*record, "label"));
    out += fmt::format("<td>{}</td><td>{}</td><td class=\"bad\">{}</td></tr>", escape_html(method),
                       escape_html(record->metric), escape_html(record->error));
  }
  return out + "</tbody></table></div></section>\n";
}

std::string health_html(const Report& report) {
  std::string out = "<section id=\"health\"><h2>Health</h2>";
  if (report.health.empty()) {
    return out +
           "<p>No method fell back on anything, no file is damaged, no two attempts disagree."
           "</p></section>\n";
  }
  out += "<ul>";
  for (const std::string& line : report.health) {
    out += "<li>" + escape_html(line) + "</li>";
  }
  return out + "</ul></section>\n";
}

std::string cells_html(const Report& report) {
  const CellTable& table = report.cells;
  std::string out =
      "<section id=\"cells\"><h2>Cells</h2><p><label>Rows with <input type=\"search\" "
      "class=\"filter\" placeholder=\"gptq step400\" aria-label=\"filter rows\"></label> Click a "
      "heading to sort. Draw 0 of each method; \u00b1 is a 95 % t interval.</p><div "
      "class=\"scroll tall\"><table class=\"sortable\"><thead><tr>";
  for (const CellTable::Column& column : table.columns) {
    out += fmt::format("<th{} title=\"{}\">{}</th>", column.is_number ? " class=\"n\"" : "",
                       escape_html(column.meaning), escape_html(column.title));
  }
  out += "</tr></thead><tbody>\n";
  for (size_t r = 0; r < std::min(table.rows.size(), kMaxRows); ++r) {
    out += fmt::format("<tr id=\"r{}\">", r);
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const CellTable::Cell& cell = table.rows[r][c];
      out += table.columns[c].is_number && cell.value.is_number()
                 ? fmt::format("<td class=\"n\" data-v=\"{}\">", cell.value.dump())
                 : std::string("<td>");
      out += escape_html(cell.text) + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>";
  if (table.rows.size() > kMaxRows) {
    out += fmt::format(
        "<p>The first {} of {} rows; <code>quench report --format csv</code> writes "
        "all.</p>",
        kMaxRows, table.rows.size());
  }
  return out + "</section>\n";
}

std::string details_html(const char* title, const std::string& inside) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", title, inside);
}

std::string manifest_html(const std::string& text) {
  std::string out = "<pre class=\"lines\">";
  size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += fmt::format("<span id=\"m{}\">{}\n</span>", line,
                       escape_html(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return out + "</pre>";
}

std::string plugins_html(const nlohmann::json& run) {
  if (!run.is_object() || !run.contains("plugins") || !run.at("plugins").is_array()) {
    return "";
  }
  std::string out =
      "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>kind</th><th>id</th>"
      "<th>version</th><th>sha256</th></tr></thead><tbody>";
  for (const nlohmann::json& plugin : run.at("plugins")) {
    out += "<tr>";
    for (const char* key : {"kind", "id", "version", "sha256"}) {
      out += "<td>" +
             (plugin.is_object() && plugin.contains(key) ? escape_html(value_text(plugin.at(key)))
                                                         : "") +
             "</td>";
    }
    out += "</tr>";
  }
  return details_html("Plugins", out + "</tbody></table></div>");
}

std::string keys_html(const Report& report) {
  std::string out = "<pre>";
  for (const Observation& it : report.observations.all) {
    const Record& record = *it.record;
    if (record.key.empty()) {
      continue;
    }
    const std::string method =
        it.is_float() ? "float" : value_text(dimension_value(record, "label"));
    out += escape_html(fmt::format(
        "{}  {}, {}{}{}, {}{}{}\n", record.key, value_text(dimension_value(record, "checkpoint")),
        record.averaging.is_null() ? "" : value_text(dimension_value(record, "averaging")) + ", ",
        method, it.is_base() ? "" : fmt::format(", draw {}, jitter {}", it.draw, it.jitter),
        record.metric, record.label.empty() ? "" : ", " + record.label,
        record.cached.empty() ? "" : ", computed by " + record.cached));
  }
  return out == "<pre>" ? "" : details_html("Keys of the records", out + "</pre>");
}

std::string provenance_html(const Report& report) {
  const RunDocuments& documents = report.documents;
  std::string out = "<section id=\"provenance\"><h2>Provenance</h2>";
  if (!documents.manifest_text.empty()) {
    out += details_html("Manifest", manifest_html(documents.manifest_text));
  }
  if (documents.manifest.is_object()) {
    out += details_html("Manifest as it was run, with everything that --set changed",
                        "<pre>" + escape_html(documents.manifest.dump(1)) + "</pre>");
  }
  nlohmann::json run = documents.run;
  out += plugins_html(run);
  if (run.is_object()) {
    run.erase("plugins");
    out += details_html("Program and machine", "<pre>" + escape_html(run.dump(1)) + "</pre>");
  }
  std::map<std::string, size_t> environments;
  for (const Observation& it : report.observations.all) {
    nlohmann::json environment = it.record->environment;
    if (environment.is_object()) {
      environment.erase("peak_memory_bytes");
    }
    ++environments[environment.dump()];
  }
  std::string list = "<ul>";
  for (const auto& [environment, count] : environments) {
    list += fmt::format("<li>{} values: <code>{}</code></li>", count, escape_html(environment));
  }
  out += details_html("Environments", list + "</ul>");
  return out + keys_html(report) + "</section>\n";
}

std::string head(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {} "
      "{}; "
      "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n",
      script_hash(plotly_script()), script_hash(page_script()), escape_html(title), page_style());
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t good = std::min(first_invalid_utf8(text), text.size());
    for (const char c : text.substr(0, good)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '&') {
        out += "&amp;";
      } else if (c == '<') {
        out += "&lt;";
      } else if (c == '>') {
        out += "&gt;";
      } else if (c == '"') {
        out += "&quot;";
      } else if (c == '\'') {
        out += "&#39;";
      } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
        out += "\uFFFD";
      } else {
        out += c;
      }
    }
    if (good < text.size()) {
      out += "\uFFFD";
    }
    text.remove_prefix(std::min(good + 1, text.size()));
  }
  return out;
}

std::string script_json(const nlohmann::json& value) {
  const std::string plain = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {  // JSON has these characters only inside strings
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string page_of(const Report& report) {
  const std::string& name = report.spec.title.empty() ? report.documents.name : report.spec.title;
  std::string out = head(name);
  out += fmt::format(
      "<header><h1>{}</h1><p>{}</p></header>\n<main>\n<noscript><p>The figures need "
      "JavaScript; the tables hold the same numbers.</p></noscript>\n",
      escape_html(name), summary(report));
  const std::vector<int> lines = figure_lines(report.documents);
  for (size_t i = 0; i < report.figures.size(); ++i) {
    if (report.figures[i].kind != FigureKind::kTable) {  // the table of cells is always included
      out += figure_html(report.figures[i], i, i < lines.size() ? lines[i] : 0);
    }
  }
  out += contrasts_html(report) + failed_html(report) + health_html(report);
  out += cells_html(report) + provenance_html(report);
  out += fmt::format(
      "</main>\n<footer>quench {}</footer>\n<script type=\"application/json\" "
      "id=\"data\">{}</script>\n<script>{}</script>\n<script>{}</script>\n</body></html>\n",
      kVersion, script_json(page_data(report)), plotly_script(), page_script());
  return out;
}

}  // namespace quench
