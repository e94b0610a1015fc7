#include "core/cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

namespace quench {

namespace {

// Characters, not bytes, so that columns with a plus-minus sign line up.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string checkpoint_name(const Record& record) {
  const auto& revision = record.checkpoint.at("revision");
  return revision.is_string() ? revision.get<std::string>()
                              : record.checkpoint.at("model").get<std::string>();
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

std::string records_table(const std::vector<Record>& records) {
  std::vector<std::vector<std::string>> rows = {
      {"checkpoint", "quantizer", "bits", "metric", "value", "error ΔQL"}};
  // A metric may be there more than once, over different corpora; errors come in the same order.
  std::map<std::string, std::deque<size_t>> rows_of;
  std::string failures;
  for (const Record& record : records) {
    const bool floating = record.quantizer.is_null();
    const std::string quantizer =
        floating ? "float" : record.quantizer.at("label").get<std::string>();
    if (!record.error.empty()) {
      failures += fmt::format("failed: {}, {}, {}: {}\n", checkpoint_name(record), quantizer,
                              record.metric, record.error);
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
  return aligned_table(rows) + failures;
}

}  // namespace quench
