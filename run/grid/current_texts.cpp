#include "run/grid/current_texts.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/error.hpp"
#include "run/grid/evaluation_parts.hpp"

namespace quench {

namespace {

constexpr size_t kMostWays = 3;  // in one line

}  // namespace

nlohmann::json current_texts(const std::vector<Experiment>& experiments, RunKnowledge& knowledge) {
  const bool has_values = !knowledge.records.records.empty();
  nlohmann::json out = nlohmann::json::array();
  for (const Experiment& experiment : experiments) {
    for (const MetricCell& metric : experiment.metrics) {
      try {
        if (const auto part = metric_part(knowledge.identities, experiment, metric, has_values)) {
          CurrentTexts::add(experiment.job, metric.plugin->id,
                            metric_text({{"metric", *part}}, nullptr), out);
        }
      } catch (const Error&) {
        continue;  // reported when it is measured
      }
    }
  }
  return out;
}

std::string other_text_warning(const std::vector<Experiment>& experiments,
                               const std::filesystem::path& folder, const RunRecords& records,
                               const nlohmann::json& texts) {
  const CurrentTexts current(texts);
  std::set<std::string> cells;
  for (const Cell& cell : cells_of(experiments)) {
    cells.insert(cell_name(experiments[cell.job], cell));
  }
  std::map<std::string, size_t> ways;  // in which texts differ → evaluations
  size_t stay = 0;  // those that this run measures again do not count any more then
  for (const Record& record : records.records) {
    const nlohmann::json text = metric_text(record.parts, record.details);
    if (record.index == 0 && record.error.empty() &&
        current.is_other(record.job, record.metric, text)) {
      ++ways[fmt::format("{} with {}", record.metric,
                         current.difference(record.job, record.metric, text, record.details))];
      stay += cells.contains(cell_name(record)) ? 0 : 1;
    }
  }
  if (ways.empty()) {
    return "";
  }
  std::vector<std::string> words;
  for (const auto& [way, values] : ways) {
    if (words.size() == kMostWays) {
      words.push_back(fmt::format("{} other ways", ways.size() - kMostWays));
      break;
    }
    words.push_back(fmt::format("{} of {}", values, way));
  }
  const std::string then =
      stay == 0 ? "this run measures them again, and the old ones do not count then"
                : fmt::format(
                      "{} of them {} in its tables and report beside the new ones; `--out FOLDER` "
                      "keeps texts apart",
                      stay, stay == 1 ? "stays" : "stay");
  return fmt::format("{} holds values of another text: {}: {}", folder.string(),
                     fmt::join(words, ", "), then);
}

}  // namespace quench
