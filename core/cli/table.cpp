#include "core/cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace quench {

namespace {

// Characters, not bytes, so that columns with a plus-minus sign line up.
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

std::string in_style(const std::vector<std::vector<std::string>>& rows, TableStyle style) {
  switch (style) {
    case TableStyle::kMarkdown:
      return markdown(rows);
    case TableStyle::kLatex:
      return latex(rows);
    case TableStyle::kText:
      break;
  }
  return aligned_table(rows);
}

// "step600", with the branch or the average where it says more.
std::string checkpoint_name(const Record& record) {
  const auto& revision = record.checkpoint.at("revision");
  std::string out = revision.is_string() ? revision.get<std::string>()
                                         : record.checkpoint.at("model").get<std::string>();
  const auto branch = record.checkpoint.find("branch");
  if (branch != record.checkpoint.end() && branch->is_string() && *branch != "") {
    out = branch->get<std::string>() + " " + out;
  }
  if (record.averaging.is_object()) {
    out += ", " + record.averaging.value("label", std::string("averaged"));
  }
  return out;
}

// The label, with the draw and the jitter where they are not the first.
std::string quantizer_name(const Record& record) {
  if (record.quantizer.is_null()) {
    return "float";
  }
  std::string out = record.quantizer.at("label").get<std::string>();
  for (const auto& [name, value] : {std::pair("draw", &record.draw), {"jitter", &record.jitter}}) {
    if (value->is_number() && *value != 0) {
      out += fmt::format(" {} {}", name, value->dump());
    }
  }
  return out;
}

std::string with_error(double value, const nlohmann::json& standard_error, const char* format) {
  std::string text = fmt::format(fmt::runtime(format), value);
  if (standard_error.is_number()) {
    text += " ± " + fmt::format(fmt::runtime(format), standard_error.get<double>());
  }
  return text;
}

std::string percent(const Record& record) {
  nlohmann::json scaled = record.standard_error;
  if (scaled.is_number()) {
    scaled = scaled.get<double>() * 100;
  }
  return with_error(record.value.get<double>() * 100, scaled, "{:.3f}") + " %";
}

}  // namespace

std::string aligned_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width_of(row[c]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) {
        line += std::string(widths[c] - width_of(row[c]) + 2, ' ');
      }
    }
    out += line + "\n";
  }
  return out;
}

std::string records_table(const std::vector<Record>& records, TableStyle style) {
  std::vector<std::vector<std::string>> rows = {
      {"checkpoint", "quantizer", "bits", "metric", "value", "error ΔQL"}};
  // A metric may be there more than once, over different corpora; errors come in the same order.
  std::map<std::string, std::deque<size_t>> rows_of;
  std::string failures;
  for (const Record& record : records) {
    const bool floating = record.quantizer.is_null();
    const std::string quantizer = quantizer_name(record);
    if (!record.error.empty()) {
      failures += fmt::format("{}failed: {}, {}, {}: {}\n", style == TableStyle::kLatex ? "% " : "",
                              checkpoint_name(record), quantizer, record.metric,
                              printable(record.error, 4096));
      continue;
    }
    if (record.metric == "quantization_error") {
      auto& waiting = rows_of[quantizer + "\n" + checkpoint_name(record) + "\n" +
                              record.details.at("metric").get<std::string>()];
      if (!waiting.empty()) {
        rows[waiting.front()].push_back(percent(record));
        waiting.pop_front();
      }
      continue;
    }
    std::string bits = "-";
    if (!floating && record.quantizer.contains("bits_per_weight")) {
      bits = fmt::format("{:.2f}", record.quantizer["bits_per_weight"].get<double>());
    }
    rows_of[quantizer + "\n" + checkpoint_name(record) + "\n" + record.metric].push_back(
        rows.size());
    rows.push_back({checkpoint_name(record), quantizer, bits, record.metric,
                    with_error(record.value.get<double>(), record.standard_error, "{:.5f}")});
  }
  return in_style(rows, style) + (style == TableStyle::kMarkdown && !failures.empty() ? "\n" : "") +
         failures;
}

}  // namespace quench
