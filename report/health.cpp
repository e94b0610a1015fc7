#include "report/health.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

constexpr const char* kSigns[] = {"retries", "dead", "fallback", "fallbacks", "warning"};

struct Sign {
  size_t layers = 0;
  std::set<const Record*> cells;
  double largest = 0;
  std::string text;
  std::string example;  // a layer
};

// Notes what one layer reports under `name`.
void look_at(const nlohmann::json& layer, const char* name, const Record& record,
             std::map<std::string, Sign>& signs) {
  if (!layer.is_object() || !layer.contains(name)) {
    return;
  }
  const nlohmann::json& value = layer.at(name);
  const bool is_number = value.is_number() && value.get<double>() > 0;
  const bool is_text = value.is_string() && !value.get_ref<const std::string&>().empty();
  if (!is_number && !is_text) {
    return;
  }
  Sign& sign = signs[value_text(dimension_value(record, "label")) + ": " + name];
  ++sign.layers;
  sign.cells.insert(&record);
  if (is_number) {
    sign.largest = std::max(sign.largest, value.get<double>());
  } else {
    sign.text = value.get<std::string>();
  }
  if (sign.example.empty()) {
    sign.example = value_text(layer.contains("name") ? layer.at("name") : nlohmann::json());
  }
}

}  // namespace

std::vector<std::string> health_of(const RunRecords& run, const Observations& observations) {
  std::vector<std::string> out;
  std::map<std::string, Sign> signs;
  for (const Observation& it : observations.all) {
    const nlohmann::json& details = it.record->details;
    if (!details.is_object() || !details.contains("layers")) {
      continue;
    }
    for (const nlohmann::json& layer : details.at("layers")) {
      for (const char* name : kSigns) {
        look_at(layer, name, *it.record, signs);
      }
    }
  }
  for (const auto& [what, sign] : signs) {
    out.push_back(fmt::format(
        "{} in {} layers of {} cells{} (first: {}).", what, sign.layers, sign.cells.size(),
        sign.text.empty() ? fmt::format(", at most {:g}", sign.largest) : ": " + sign.text,
        sign.example));
  }
  out.insert(out.end(), observations.notes.begin(), observations.notes.end());
  for (const DamagedLine& line : run.damaged) {
    out.push_back(fmt::format("{}:{}: does not count: {}.", line.file.filename().string(),
                              line.line, line.reason));
  }
  if (!run.conflicts.empty()) {
    out.push_back(
        fmt::format("{} keys hold different values in two attempts; the first counts: {}.",
                    run.conflicts.size(), fmt::join(run.conflicts, ", ")));
  }
  return out;
}

}  // namespace quench
