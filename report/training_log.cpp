#include "report/training_log.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostLogs = 200;

std::optional<TrainingCurve> read_log(const fs::path& file, const fs::path& folder) {
  TrainingCurve out;
  out.name = file.stem().string();
  if (const fs::path of_job = file.parent_path(); of_job != folder) {
    const std::string number = of_job.filename().string().substr(
        std::min(of_job.filename().string().size(), std::string_view("job~").size()));
    std::from_chars(number.data(), number.data() + number.size(), out.job);
  }
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto number = [&](const char* name) {
      return row.is_object() && row.contains(name) && row.at(name).is_number()
                 ? std::optional(row.at(name).get<double>())
                 : std::nullopt;
    };
    const auto step = number("step");
    const auto loss = number("loss");
    if (!step || !loss) {  // null: not finite
      continue;
    }
    out.step.push_back(*step);
    out.loss.push_back(*loss);
    out.tokens.push_back(number("tokens").value_or(0));
    out.rate.push_back(number("lr").value_or(0));
  }
  return out.step.empty() ? std::nullopt : std::optional(std::move(out));
}

// How many rows both begin with.
size_t shared_rows(const TrainingCurve& a, const TrainingCurve& b) {
  size_t rows = 0;
  while (rows < std::min(a.step.size(), b.step.size()) && a.step[rows] == b.step[rows] &&
         a.loss[rows] == b.loss[rows]) {
    ++rows;
  }
  return rows;
}

void drop_first(size_t rows, TrainingCurve& curve) {
  for (auto* values : {&curve.step, &curve.tokens, &curve.loss, &curve.rate}) {
    values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(rows));
  }
}

}  // namespace

std::vector<TrainingCurve> read_training_logs(const fs::path& run) {
  const fs::path folder = run / "training";
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".jsonl" && files.size() < kMostLogs) {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<TrainingCurve> out;
  for (const fs::path& file : files) {
    if (std::optional<TrainingCurve> curve = read_log(file, folder)) {
      out.push_back(std::move(*curve));
    }
  }
  // The branch that goes furthest keeps what several begin with: a fork joins it one row before.
  std::vector<size_t> longest(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    longest[i] = i;
  }
  std::stable_sort(longest.begin(), longest.end(),
                   [&](size_t a, size_t b) { return out[a].step.size() > out[b].step.size(); });
  const std::vector<TrainingCurve> whole = out;
  for (size_t i = 1; i < longest.size(); ++i) {
    size_t shared = 0;
    for (size_t before = 0; before < i; ++before) {
      if (whole[longest[i]].job == whole[longest[before]].job) {
        shared = std::max(shared, shared_rows(whole[longest[i]], whole[longest[before]]));
      }
    }
    if (shared > 1) {
      drop_first(shared - 1, out[longest[i]]);
    }
  }
  return out;
}

}  // namespace quench
