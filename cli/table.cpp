#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxCell = 4096;  // bytes

// Counts characters, not bytes, so that columns with a plus-minus sign line up.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width_of(row[c]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      out += row[c];
      if (c + 1 < row.size()) {
        out.append(widths[c] - width_of(row[c]) + 2, ' ');
      }
    }
    out += '\n';
  }
  return out;
}

std::string markdown(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> cells = rows;
  cells.insert(cells.begin() + 1, std::vector<std::string>(rows[0].size(), "---"));
  std::string out;
  for (auto& row : cells) {
    row.resize(rows[0].size());
    std::string line = "|";
    for (const std::string& cell : row) {
      line += " " + (cell == "---" ? cell : escaped(cell, "\\|*_`<[")) + " |";
    }
    out += line + "\n";
  }
  return out;
}

std::string latex_text(const std::string& text) {
  static const std::pair<std::string_view, std::string_view> kSpelled[] = {
      {"\\", "\\textbackslash{}"}, {"~", "\\textasciitilde{}"}, {"^", "\\textasciicircum{}"},
      {"<", "\\textless{}"},       {">", "\\textgreater{}"},    {"±", "$\\pm$"},
      {"Δ", "$\\Delta$"}};
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto found = std::find_if(
        std::begin(kSpelled), std::end(kSpelled),
        [&](const auto& pair) { return text.compare(i, pair.first.size(), pair.first) == 0; });
    if (found != std::end(kSpelled)) {
      out += found->second;
      i += found->first.size();
    } else {
      out += escaped(text.substr(i++, 1), "&%$#_{}");
    }
  }
  return out;
}

std::string latex(const std::vector<std::vector<std::string>>& rows) {
  std::string out =
      fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n", std::string(rows[0].size(), 'l'));
  for (size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::string> row = rows[r];
    row.resize(rows[0].size());
    for (size_t c = 0; c < row.size(); ++c) {
      out += (c > 0 ? " & " : "") + latex_text(row[c]);
    }
    out += r == 0 ? " \\\\\n\\midrule\n" : " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

// Names come from manifests and plugins: none may end a line or control the terminal.
std::vector<std::vector<std::string>> printable_cells(std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) {
      cell = printable(cell, kMaxCell);
    }
  }
  return rows;
}

std::string in_style(const std::vector<std::vector<std::string>>& given, TableStyle style) {
  const std::vector<std::vector<std::string>> rows = printable_cells(given);
  switch (style) {
    case TableStyle::kMarkdown:
      return markdown(rows);
    case TableStyle::kLatex:
      return latex(rows);
    case TableStyle::kText:
      break;
  }
  return aligned(rows);
}

std::string with_error(double value, double standard_error, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (!std::isnan(standard_error)) {
    text += fmt::format(" ± {:.{}f}", standard_error, digits);
  }
  return text;
}

TableEntry entry_of(const Record& record) {
  TableEntry out;
  out.checkpoint = checkpoint_name(record.checkpoint, record.averaging);
  out.quantizer = quantizer_name(record.quantizer, record.draw, record.jitter);
  out.bits = bits_text(record.quantizer);
  out.metric = record.metric;
  out.job = std::to_string(record.job);
  out.label = record.label;
  out.error = record.error;
  if (out.metric == "quantization_error" && out.error.empty()) {
    out.of_metric = record.details.at("metric").get<std::string>();
  }
  out.value = record.value.is_number() ? record.value.get<double>() : 0;
  out.standard_error = record.standard_error.is_number() ? record.standard_error.get<double>()
                                                         : std::numeric_limits<double>::quiet_NaN();
  return out;
}

// Rows of the table that wait for the derived error, in order of arrival: two attempts may have
// different values of one cell; errors come in the same order.
struct Waiting {
  std::vector<size_t> rows;
  size_t next = 0;
};

}  // namespace

std::string checkpoint_name(const nlohmann::json& checkpoint, const nlohmann::json& averaging) {
  const auto& revision = checkpoint.at("revision");
  std::string out = revision.is_string() ? revision.get<std::string>()
                                         : checkpoint.at("model").get<std::string>();
  const auto branch = checkpoint.find("branch");
  if (branch != checkpoint.end() && branch->is_string() && *branch != "") {
    out = branch->get<std::string>() + " " + out;
  }
  if (averaging.is_object()) {
    out += ", " + averaging.value("label", std::string("averaged"));
  }
  return out;
}

std::string quantizer_name(const nlohmann::json& quantizer, const nlohmann::json& draw,
                           const nlohmann::json& jitter) {
  if (quantizer.is_null()) {
    return "float";
  }
  std::string out = quantizer.at("label").get<std::string>();
  for (const auto& [name, value] : {std::pair("draw", &draw), {"jitter", &jitter}}) {
    if (value->is_number() && *value != 0) {
      out += fmt::format(" {} {}", name, value->dump());
    }
  }
  return out;
}

std::string bits_text(const nlohmann::json& quantizer) {
  const nlohmann::json bits =
      quantizer.is_object() ? quantizer.value("bits_per_weight", nlohmann::json()) : nullptr;
  return bits.is_number()   ? fmt::format("{:.2f}", bits.get<double>())
         : bits.is_string() ? bits.get<std::string>()  // not a finite number
                            : "-";
}

std::string aligned_table(const std::vector<std::vector<std::string>>& rows) {
  return in_style(rows, TableStyle::kText);
}

std::string records_table(const std::vector<TableEntry>& entries, TableStyle style) {
  std::vector<std::vector<std::string>> rows = {
      {"checkpoint", "quantizer", "bits", "metric", "value", "error ΔQL"}};
  rows.reserve(entries.size() + 1);
  std::unordered_map<std::string, Waiting> waiting;
  std::string failures;
  for (const TableEntry& entry : entries) {
    const std::string place =
        fmt::format("{}\n{}\n{}\n{}\n", entry.job, entry.checkpoint, entry.quantizer, entry.label);
    if (!entry.error.empty()) {
      failures +=
          fmt::format("{}failed: {}, {}, {}: {}\n", style == TableStyle::kLatex ? "% " : "",
                      printable(entry.checkpoint, kMaxCell), printable(entry.quantizer, kMaxCell),
                      printable(entry.metric, kMaxCell), printable(entry.error, kMaxCell));
    } else if (entry.metric == "quantization_error") {
      Waiting& losses = waiting[place + entry.of_metric];
      const std::string percent =
          with_error(entry.value * 100, entry.standard_error * 100, 3) + " %";
      if (losses.next < losses.rows.size()) {
        rows[losses.rows[losses.next++]].push_back(percent);
      } else {  // selected without its loss
        rows.push_back({entry.checkpoint, entry.quantizer, entry.bits, "", "", percent});
      }
    } else {
      waiting[place + entry.metric].rows.push_back(rows.size());
      rows.push_back({entry.checkpoint, entry.quantizer, entry.bits, entry.metric,
                      with_error(entry.value, entry.standard_error, 5)});
    }
  }
  return in_style(rows, style) + (style == TableStyle::kMarkdown && !failures.empty() ? "\n" : "") +
         failures;
}

std::string records_table(const std::vector<Record>& records) {
  std::vector<TableEntry> entries;
  std::transform(records.begin(), records.end(), std::back_inserter(entries), entry_of);
  return records_table(entries);
}

}  // namespace quench
