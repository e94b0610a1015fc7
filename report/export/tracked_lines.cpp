#include "report/export/tracked_lines.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace quench {

namespace {

using nlohmann::json;

// A part of a name; trackers may use it as the name of a folder. Replaces the separator of parts,
// and anything that leads out of a folder.
std::string part(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  if (text.find_first_not_of('.') == std::string::npos) {
    text.insert(0, "_");
  }
  return printable(text, 200);
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

int64_t count_of(const json& value) {
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

std::string line_name(const Record& record) {
  const std::string branch = text_of(record.checkpoint, "branch");
  std::string name = part(branch.empty() ? "main" : branch);
  if (record.job > 0) {
    name += fmt::format("/job {}", record.job);
  }
  if (!record.averaging.is_null()) {
    name += "/" + part(text_of(record.averaging, "label"));
  }
  name += "/" + (record.quantizer.is_null() ? "float" : part(text_of(record.quantizer, "label")));
  if (count_of(record.draw) > 0) {
    name += fmt::format("/draw {}", count_of(record.draw));
  }
  if (count_of(record.jitter) > 0) {
    name += fmt::format("/jitter {}", count_of(record.jitter));
  }
  return name;
}

// The label distinguishes two corpora under one metric; it begins with the metric's id.
std::string tag_of(const Record& record) {
  const std::string id = record.metric.substr(0, record.metric.find('/'));
  if (record.label.empty()) {
    return printable(record.metric, 200);
  }
  if (!record.label.starts_with(id)) {  // a derived value
    return printable(record.metric + "/" + record.label, 200);
  }
  return printable(record.label + record.metric.substr(id.size()), 200);
}

bool is_number(const Record& record) {
  return record.error.empty() && record.value.is_number();
}

// The step of each checkpoint, by name.
class Steps {
 public:
  explicit Steps(const std::vector<Record>& records) {
    for (const Record& record : records) {
      if (is_number(record)) {
        trained_ = trained_ && record.checkpoint.is_object() &&
                   record.checkpoint.value("step", json()).is_number_integer();
        places_.emplace(name_of(record), static_cast<int64_t>(places_.size()));
      }
    }
  }
  int64_t of(const Record& record) const {
    return trained_ ? record.checkpoint.at("step").get<int64_t>() : places_.at(name_of(record));
  }

 private:
  static std::string name_of(const Record& record) {
    return text_of(record.checkpoint, "model") + "@" + text_of(record.checkpoint, "revision");
  }
  bool trained_ = true;
  std::map<std::string, int64_t> places_;
};

}  // namespace

std::vector<TrackedLine> tracked_lines(const std::vector<Record>& records) {
  const Steps steps(records);
  std::map<std::string, TrackedLine> lines;
  std::map<std::string, std::map<std::pair<std::string, int64_t>, double>> values;
  for (const Record& record : records) {
    if (!is_number(record)) {
      continue;
    }
    const std::string name = line_name(record);
    TrackedLine& line = lines[name];
    if (line.name.empty()) {
      line.name = name;
      line.about = {
          {"branch",
           record.checkpoint.is_object() ? record.checkpoint.value("branch", json()) : json()},
          {"averaging", record.averaging},
          {"quantizer", record.quantizer},
          {"environment", record.environment}};
    }
    values[name][{tag_of(record), steps.of(record)}] = record.value.get<double>();
  }
  std::vector<TrackedLine> out;
  for (auto& [name, line] : lines) {
    for (const auto& [place, value] : values[name]) {
      line.points.push_back({place.first, place.second, value});
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace quench
