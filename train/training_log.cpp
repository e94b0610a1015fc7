#include "train/training_log.hpp"

#include <cmath>
#include <set>

#include "core/error.hpp"

namespace quench {

namespace {

nlohmann::json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json to_json(const TrainingRow& row) {
  return {{"step", row.step},
          {"tokens", row.tokens},
          {"lr", row.lr},
          {"loss", row.loss},
          {"gradient_norm", row.gradient_norm},
          {"tokens_per_second", row.tokens_per_second},
          {"mfu", or_null(row.mfu)},
          {"validation_loss", or_null(row.validation_loss)}};
}

}  // namespace

void TrainingLog::continue_from(const TrainedStates& states, const std::string& key,
                                bool starts_anew) {
  previous_.clear();
  rows_ = nlohmann::json::array();
  if (key.empty() || starts_anew) {
    previous_ = key;
    return;
  }
  const nlohmann::json note = states.note(key);
  previous_ = note.value("previous", "");
  rows_ = note.value("rows", nlohmann::json::array());
}

void TrainingLog::add(const TrainingRow& row) {
  rows_.push_back(to_json(row));
}

nlohmann::json TrainingLog::note() const {
  return {{"previous", previous_}, {"rows", rows_}};
}

void TrainingLog::cut(const std::string& key) {
  previous_ = key;
  rows_ = nlohmann::json::array();
}

std::string training_log(const TrainedStates& states, const std::string& key) {
  std::vector<nlohmann::json> notes;
  std::set<std::string> seen;
  for (std::string at = key; !at.empty() && seen.insert(at).second;) {
    try {
      notes.push_back(states.note(at));
    } catch (const Error&) {
      break;
    }
    at = notes.back().value("previous", "");
  }
  std::string out;
  for (auto note = notes.rbegin(); note != notes.rend(); ++note) {
    for (const nlohmann::json& row : note->value("rows", nlohmann::json::array())) {
      out += row.dump() + "\n";
    }
  }
  return out;
}

}  // namespace quench
