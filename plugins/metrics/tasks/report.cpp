#include "metrics/tasks/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <set>

namespace quench::tasks {

namespace {

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_number(double value) {
  return std::isfinite(value) ? kit::detail::json_text(value) : "null";
}

// A mean and its standard error, for one task or several.
struct Score {
  double mean = 0;
  double error = std::numeric_limits<double>::quiet_NaN();
};

// The results of one task or group.
struct Summary {
  std::string name;
  uint64_t count = 0;
  uint64_t left_out = 0;  // questions that could not be scored
  Score acc, acc_norm;
  bool has_norm = false;
  double chance = 0;  // expected accuracy of a guess

  const Score& by(const std::string& rule) const {
    return rule == "acc_norm" && has_norm ? acc_norm : acc;
  }
};

// The sample standard deviation over √n, like lm-eval.
Score score_of(const Exam& exam, double Item::*value) {
  Score out;
  const auto count = static_cast<double>(exam.items.size());
  for (const Item& item : exam.items) {
    out.mean += item.*value;
  }
  out.mean /= count;
  double squares = 0;
  for (const Item& item : exam.items) {
    squares += (item.*value - out.mean) * (item.*value - out.mean);
  }
  if (exam.items.size() > 1) {
    out.error = std::sqrt(squares / (count - 1) / count);
  }
  return out;
}

Summary summary_of(const Exam& exam) {
  Summary out{exam.task.name,
              exam.items.size(),
              exam.left_out.size(),
              score_of(exam, &Item::acc),
              score_of(exam, &Item::acc_norm),
              exam.task.acc_norm,
              0};
  for (const Item& item : exam.items) {
    out.chance +=
        1.0 / static_cast<double>(item.requests.size()) / static_cast<double>(exam.items.size());
  }
  return out;
}

// The mean over the members of a group, weighted by their size; pools the errors like lm-eval.
Score pooled(const std::vector<const Summary*>& members, const Score& (*of)(const Summary&)) {
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (const Summary* member : members) {
    const auto size = static_cast<double>(member->count);
    const Score& score = of(*member);
    count += size;
    sum += size * score.mean;
    squares += (size - 1) * score.error * score.error * size;
  }
  return {sum / count, std::sqrt(squares / (count - static_cast<double>(members.size())) / count)};
}

Summary group_of(const std::string& name, const std::vector<const Summary*>& members) {
  Summary out;
  out.name = name;
  out.has_norm = true;
  for (const Summary* member : members) {
    out.count += member->count;
    out.left_out += member->left_out;
    out.has_norm = out.has_norm && member->has_norm;
    out.chance += member->chance * static_cast<double>(member->count);
  }
  out.chance /= static_cast<double>(out.count);
  out.acc = pooled(members, [](const Summary& s) -> const Score& { return s.acc; });
  out.acc_norm = pooled(members, [](const Summary& s) -> const Score& { return s.acc_norm; });
  return out;
}

std::string json_of(const Summary& summary) {
  std::string out = "\"n\":" + std::to_string(summary.count) +
                    ",\"left_out\":" + std::to_string(summary.left_out) +
                    ",\"acc\":" + json_number(summary.acc.mean) +
                    ",\"acc_stderr\":" + json_number(summary.acc.error) +
                    ",\"chance\":" + json_number(summary.chance) +
                    ",\"above_chance\":" + json_number(summary.acc.mean - summary.chance);
  if (summary.has_norm) {
    out += ",\"acc_norm\":" + json_number(summary.acc_norm.mean) +
           ",\"acc_norm_stderr\":" + json_number(summary.acc_norm.error);
  }
  return out;
}

std::string json_of(const Exam& exam, const Summary& summary) {
  return "{" + json_of(summary) + ",\"version\":" + std::to_string(exam.task.version) +
         ",\"split\":" + json_string(exam.split.name) + ",\"shot_split\":" +
         (exam.shot_split.name.empty() ? "null" : json_string(exam.shot_split.name)) +
         ",\"truncated\":" + std::to_string(exam.truncated) +
         ",\"encoded_alone\":" + std::to_string(exam.encoded_alone) + "}";
}

std::string of(size_t part, size_t whole, const char* what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " " + what;
}

// Another unit, so that a mean over a part is compared with none over all, or over another part.
std::string unit_of(const std::string& tasks, uint64_t questions, uint64_t left_out) {
  std::string part = tasks;
  if (left_out > 0) {
    part += (part.empty() ? "" : ", ") + of(questions, questions + left_out, "questions");
  }
  return "accuracy" + (part.empty() ? "" : " of " + part);
}

// Names all questions, and says of the first ones why.
std::string json_of(const Exam& exam) {
  constexpr size_t kMostReasons = 10;
  std::string questions;
  std::string why;
  for (size_t i = 0; i < exam.left_out.size(); ++i) {
    const LeftOut& each = exam.left_out[i];
    questions += (i == 0 ? "" : ",") + std::to_string(each.number);
    if (i < kMostReasons) {
      why += (i == 0 ? "\"" : ",\"") + std::to_string(each.number) + "\":" + json_string(each.why);
    }
  }
  return "{\"questions\":[" + questions + "],\"why\":{" + why + "}}";
}

}  // namespace

void report(const std::vector<Exam>& exams, const std::string& rule, uint64_t shots, uint64_t fed,
            kit::MetricSink& sink) {
  std::vector<Summary> tasks;
  std::string failed;
  std::set<std::string> broken;  // groups with a task that failed
  size_t missing = 0;            // from the mean
  for (const Exam& exam : exams) {
    tasks.push_back(summary_of(exam));
    if (!exam.fault.empty()) {
      failed +=
          (failed.empty() ? "" : ",") + json_string(exam.task.name) + ":" + json_string(exam.fault);
      missing += exam.task.group.empty() || broken.insert(exam.task.group).second ? 1 : 0;
    }
  }
  const auto counts = [&](const Exam& exam) {
    return exam.fault.empty() && !broken.contains(exam.task.group);
  };
  // A group counts once in the mean and is listed in the place of its first member.
  std::vector<Summary> rows;
  std::vector<size_t> row_of(exams.size());
  std::map<std::string, size_t> groups;
  for (size_t e = 0; e < exams.size(); ++e) {
    const std::string& group = exams[e].task.group;
    if (!counts(exams[e])) {
      continue;
    }
    if (!group.empty() && groups.count(group) > 0) {
      row_of[e] = groups[group];
      continue;
    }
    row_of[e] = rows.size();
    if (group.empty()) {
      rows.push_back(tasks[e]);
      continue;
    }
    std::vector<const Summary*> members;
    for (size_t other = e; other < exams.size(); ++other) {
      if (exams[other].task.group == group) {
        members.push_back(&tasks[other]);
      }
    }
    groups[group] = rows.size();
    rows.push_back(group_of(group, members));
  }
  if (rows.empty()) {
    const auto first = std::find_if(exams.begin(), exams.end(),
                                    [](const Exam& exam) { return !exam.fault.empty(); });
    throw kit::Error(QUENCH_INVALID_ARGUMENT, first->fault);
  }
  uint64_t questions = 0;
  uint64_t left_out = 0;
  for (const Summary& row : rows) {
    questions += row.count;
    left_out += row.left_out;
  }
  const std::string unit = unit_of(
      missing == 0 ? "" : of(rows.size(), rows.size() + missing, "tasks"), questions, left_out);
  Score mean;
  double squares = 0;
  double above_chance = 0;
  const auto count = static_cast<double>(rows.size());
  for (const Summary& row : rows) {
    mean.mean += row.by(rule).mean / count;
    above_chance += (row.by(rule).mean - row.chance) / count;
    squares += row.by(rule).error * row.by(rule).error;
  }
  mean.error = std::sqrt(squares) / count;
  sink.value("tasks", mean.mean, unit.c_str(), QUENCH_HIGHER_IS_BETTER, mean.error);
  for (const Summary& row : rows) {
    const std::string of_row = unit_of("", row.count, row.left_out);
    sink.value((row.name + "/acc").c_str(), row.acc.mean, of_row.c_str(), QUENCH_HIGHER_IS_BETTER,
               row.acc.error);
    if (row.has_norm) {
      sink.value((row.name + "/acc_norm").c_str(), row.acc_norm.mean, of_row.c_str(),
                 QUENCH_HIGHER_IS_BETTER, row.acc_norm.error);
    }
  }
  std::string details;
  uint64_t requests = 0;
  uint64_t truncated = 0;
  std::string unscored;
  for (size_t e = 0; e < exams.size(); ++e) {
    if (!exams[e].fault.empty()) {
      continue;
    }
    details += (details.empty() ? "" : ",") + json_string(tasks[e].name) + ":" +
               json_of(exams[e], tasks[e]);
    truncated += exams[e].truncated;
    if (!exams[e].left_out.empty()) {
      unscored +=
          (unscored.empty() ? "" : ",") + json_string(tasks[e].name) + ":" + json_of(exams[e]);
    }
    for (const Item& item : exams[e].items) {
      requests += item.requests.size();
    }
  }
  sink.json("tasks", "{" + details + "}");
  details.clear();
  for (const auto& [name, row] : groups) {
    details += (details.empty() ? "" : ",") + json_string(name) + ":{" + json_of(rows[row]) + "}";
  }
  sink.json("groups", "{" + details + "}");
  if (!failed.empty()) {
    sink.json("failed", "{" + failed + "}");
  }
  if (!unscored.empty()) {
    sink.json("left_out", "{" + unscored + "}");
  }
  sink.detail("above_chance", above_chance);
  sink.detail("questions", static_cast<double>(questions));
  sink.detail("requests", static_cast<double>(requests));
  sink.detail("truncated", static_cast<double>(truncated));
  sink.detail("shots", static_cast<double>(shots));
  sink.detail("distinct_tokens", static_cast<double>(fed));
  // Scaled so that their mean is the value, whatever the sizes of the tasks.
  std::vector<double> items;
  for (size_t e = 0; e < exams.size(); ++e) {
    if (!counts(exams[e])) {
      continue;
    }
    const double weight =
        static_cast<double>(questions) / count / static_cast<double>(rows[row_of[e]].count);
    for (const Item& item : exams[e].items) {
      const bool norm = rule == "acc_norm" && rows[row_of[e]].has_norm;
      items.push_back((norm ? item.acc_norm : item.acc) * weight);
    }
  }
  sink.items("accuracy", items);
}

void write_log(const std::vector<Exam>& exams, const std::string& file) {
  static std::map<std::string, int> written;
  const int number = ++written[file];
  const std::string path = number == 1 ? file : file + "." + std::to_string(number);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (const Exam& exam : exams) {
    for (const Item& item : exam.items) {
      out << "{\"task\":" << json_string(exam.task.name) << ",\"doc_id\":" << item.number
          << ",\"target\":" << item.answer << ",\"requests\":[";
      for (size_t r = 0; r < item.requests.size(); ++r) {
        out << (r > 0 ? "," : "") << "{\"context\":" << json_string(item.requests[r].context)
            << ",\"continuation\":" << json_string(item.requests[r].continuation)
            << ",\"ll\":" << json_number(item.requests[r].log_likelihood) << "}";
      }
      out << "],\"acc\":" << json_number(item.acc)
          << ",\"acc_norm\":" << (exam.task.acc_norm ? json_number(item.acc_norm) : "null")
          << "}\n";
    }
  }
  out.flush();
  if (!out) {
    kit::fail(QUENCH_DATA_LOSS, "%s: the log cannot be written", path.c_str());
  }
}

}  // namespace quench::tasks
