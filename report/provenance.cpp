#include "report/provenance.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/html_text.hpp"
#include "report/report.hpp"

namespace quench {

namespace {

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

}  // namespace

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

}  // namespace quench
