#include "train/training_log.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/io/file.hpp"
#include "core/base/json/or_null.hpp"
#include "core/error.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestLog = uint64_t{4} << 30;
constexpr std::string_view kRow = "row";
constexpr std::string_view kUnsealed = "{\"gradient_norm\":";  // how rows began before

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

// In the order of their names.
std::vector<fs::path> logs_below(const fs::path& folder) {
  std::vector<fs::path> out;
  if (!fs::exists(folder)) {
    return out;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".jsonl") {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void verify_log(const fs::path& path, LogFindings& out) {
  const std::string content = read_file(path, kLargestLog);
  if (content.starts_with(kUnsealed)) {
    out.unchecked.push_back(path.string() +
                            ": an earlier version wrote its rows, without checksums");
    return;
  }
  std::string_view left = content;
  for (size_t number = 1; !left.empty(); ++number) {
    const size_t end = left.find('\n');
    const char* fault = end == std::string_view::npos ? "it is cut short: no end of the line"
                                                      : unseal(kRow, left.substr(0, end)).fault;
    if (fault != nullptr) {
      out.faults.push_back(path.string() + ":" + std::to_string(number) + ": " + fault);
    }
    ++out.checked;
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
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
      out += seal(kRow, row.dump()) + "\n";
    }
  }
  return out;
}

LogFindings verify_training_logs(const fs::path& run) {
  LogFindings out;
  for (const fs::path& log : logs_below(run / "training")) {
    verify_log(log, out);
  }
  return out;
}

}  // namespace quench
