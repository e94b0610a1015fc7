#include "report/page.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/io/sha256.hpp"
#include "core/version.hpp"
#include "report/assets.hpp"
#include "report/contrast_sentence.hpp"
#include "report/dimension.hpp"
#include "report/findings.hpp"
#include "report/html_text.hpp"
#include "report/page_data.hpp"
#include "report/provenance.hpp"
#include "report/report.hpp"

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

std::string figure_html(const Figure& figure, size_t index, int line, const std::string& run) {
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
      "below</a>; as files: <code>quench report {} --format csv --figure {}</code>.",
      escape_html(figure.caption), escape_html(run), escape_html(figure.name));
  if (line > 0) {
    out += fmt::format(" Asked for in <a href=\"#m{0}\">line {0} of the manifest</a>.", line);
  }
  return out + "</span></figcaption></figure>\n";
}

std::string interval_cell(const Spread& spread) {
  std::string out =
      fmt::format("<td class=\"n\" data-v=\"{}\">{:+.4f} [{:+.4f}, {:+.4f}]", spread.mean,
                  spread.mean, spread.interval->low, spread.interval->high);
  out += fmt::format(" <small>{}</small>", escape_html(sample_text(spread)));
  if (spread.simultaneous) {
    out += fmt::format("<br><small>all {} at once [{:+.4f}, {:+.4f}]</small>", spread.comparisons,
                       spread.simultaneous->low, spread.simultaneous->high);
  }
  if (spread.detectable) {
    out += fmt::format("<br><small>detectable {:.2g}</small>", *spread.detectable);
  }
  return out + "</td>";
}

std::string interval_cells(const ContrastRow& row) {
  std::string out;
  for (const SpreadKind kind : kSpreadKinds) {
    const auto found = std::find_if(row.spreads.begin(), row.spreads.end(),
                                    [&](const Spread& spread) { return spread.kind == kind; });
    out += found == row.spreads.end() ? "<td></td>" : interval_cell(*found);
  }
  return out;
}

std::string finding_html(const Report& report) {
  if (report.findings.empty()) {
    return "";
  }
  std::string out = "<section id=\"finding\"><p class=\"finding\">" +
                    escape_html(report.findings.front()) + "</p>";
  for (const Contrast& contrast : report.contrasts) {
    if (!contrast.summary.empty() && contrast.summary != report.findings.front()) {
      out += "<p>" + escape_html(contrast.summary) + "</p>";
    }
  }
  if (report.findings.back() == kOneTrainingRun) {
    out += "<p>" + escape_html(report.findings.back()) + "</p>";
  }
  return out + "</section>\n";
}

std::string contrasts_html(const Report& report) {
  if (report.contrasts.empty()) {
    return "";
  }
  size_t comparisons = 0;
  for (const Contrast& contrast : report.contrasts) {
    comparisons += contrast.rows.size();
  }
  std::string out =
      "<section id=\"contrasts\"><h2>Contrasts</h2><p>Paired differences of \u0394CE in nats per "
      "token: negative means that the first costs less. Intervals are at 95 %, one for each kind "
      "of replicate; they are never mixed. " +
      fmt::format(
          "{} in all: \u201cat once\u201d is the interval that holds for all of them "
          "together, \u201cdetectable\u201d the smallest effect that 4 of 5 such samples "
          "would have shown.</p>\n",
          comparisons == 1 ? "1 comparison" : fmt::format("{} comparisons", comparisons));
  for (const Contrast& contrast : report.contrasts) {
    out += "<h3>" + escape_html(title_of(contrast.spec)) + "</h3>";
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
        "class=\"n\">" +
        value_name(contrast.spec) +
        "</th><th class=\"n\">bits/byte</th><th class=\"n\">over "
        "items</th><th class=\"n\">over draws</th><th class=\"n\">over jitter</th><th "
        "class=\"n\">over seeds</th></tr></thead><tbody>";
    for (const ContrastRow& row : contrast.rows) {
      out += fmt::format("<tr><td>{}</td><td class=\"n\" data-v=\"{}\">{:+.4f}</td>",
                         escape_html(row.what), shown_value(row), shown_value(row));
      const std::optional<double> bits = shown_bits_per_byte(row);
      out += bits ? fmt::format("<td class=\"n\" data-v=\"{}\">{:+.4f}</td>", *bits, *bits)
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
        "<p>The first {} of {} rows; <code>quench report {} --format csv --figure table</code> "
        "writes all.</p>",
        kMaxRows, table.rows.size(), escape_html(report.documents.place));
  }
  return out + "</section>\n";
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

std::string page_of(const Report& report) {
  const std::string& name = report.spec.title.empty() ? report.documents.name : report.spec.title;
  std::string out = head(name);
  out += fmt::format(
      "<header><h1>{}</h1><p>{}</p></header>\n<main>\n<noscript><p>The figures need "
      "JavaScript; the tables hold the same numbers.</p></noscript>\n",
      escape_html(name), summary(report));
  out += finding_html(report);
  const std::vector<int> lines = figure_lines(report.documents);
  for (size_t i = 0; i < report.figures.size(); ++i) {
    if (!report.figures[i].panels.empty()) {  // the table of cells is always included
      out += figure_html(report.figures[i], i, i < lines.size() ? lines[i] : 0,
                         report.documents.place);
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
