#include "report/selector.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

// 3 and 3.0 are the same number, and a name of digits needs no quotes.
bool same(const nlohmann::json& wanted, const nlohmann::json& got) {
  return wanted == got || (got.is_string() && value_text(wanted) == got.get<std::string>()) ||
         (got.is_null() && wanted == "none");
}

bool is_name(const Record& record, const char* dimension, const std::string& name) {
  const nlohmann::json value = dimension_value(record, dimension);
  return value.is_string() && value.get<std::string>() == name;
}

bool names_quantizer(const Record& record, const std::string& name) {
  return is_name(record, "quantizer", name) || is_name(record, "label", name);
}

bool names_averaging(const Record& record, const std::string& name) {
  return name == "raw" ? record.averaging.is_null()
                       : is_name(record, "averaging", name) ||
                             (record.averaging.is_object() && record.averaging.contains("id") &&
                              record.averaging.at("id") == name);
}

bool names_branch(const Record& record, const std::string& name) {
  return is_name(record, "branch", name);
}

void note_subject(const std::string& dimension, SelectedCells& out) {
  if (dimension == "quantizer" || dimension == "label" || dimension == "bits" ||
      dimension == "bytes" || dimension == "calibration" || dimension.starts_with("params.")) {
    out.by_quantizer = true;
  } else if (dimension == "averaging" || dimension.starts_with("averaging.")) {
    out.by_averaging = true;
  } else if (dimension.starts_with("sweep.")) {
    out.by_sweep.push_back(dimension);
  } else if (dimension != "metric" && dimension != "seed" && dimension != "job" &&
             dimension != "device") {
    out.by_checkpoint = true;
  }
}

using Test = bool (*)(const Record&, const std::string&);

// The labels that are `name` with the values of a sweep behind it.
std::set<std::string> swept_labels(const std::string& name,
                                   const std::vector<const Observation*>& candidates) {
  std::set<std::string> out;
  for (const Observation* it : candidates) {
    for (const char* dimension : {"label", "averaging"}) {
      const nlohmann::json label = dimension_value(*it->record, dimension);
      if (label.is_string() && is_swept_label(label.get<std::string>(), name)) {
        out.insert(label.get<std::string>());
      }
    }
  }
  return out;
}

// The single meaning of the name in this run, or a problem that lists all candidates. A name that
// is one label without the values of its sweep becomes that label.
Test meaning_of(std::string& name, const std::vector<const Observation*>& candidates,
                SelectedCells& out) {
  Test test = nullptr;
  std::vector<std::string> meanings;
  const auto consider = [&](const char* kind, Test named, bool& flag) {
    const auto matches = [&](const Observation* it) { return named(*it->record, name); };
    if (std::any_of(candidates.begin(), candidates.end(), matches)) {
      meanings.emplace_back(kind);
      flag = true;
      test = named;
    }
  };
  consider("quantizer", names_quantizer, out.by_quantizer);
  consider("averaging", names_averaging, out.by_averaging);
  consider("branch", names_branch, out.by_checkpoint);
  if (meanings.empty()) {
    const std::set<std::string> swept = swept_labels(name, candidates);
    if (swept.size() == 1) {
      name = *swept.begin();
      return meaning_of(name, candidates, out);
    }
    if (!swept.empty()) {
      out.problem = fmt::format("{} is the label of a sweep; name one of {}", printable(name),
                                printable(fmt::format("{}", fmt::join(swept, ", ")), 4096));
      return nullptr;
    }
    out.problem = fmt::format("no quantizer, averaging or branch with finished values is called {}",
                              printable(name));
  } else if (meanings.size() > 1) {
    out.problem = fmt::format("{} is the name of a {}; write {{{}: {}}}", printable(name),
                              fmt::join(meanings, " and of a "), meanings[0], printable(name));
    test = nullptr;
  }
  return test;
}

}  // namespace

bool is_swept_label(const std::string& label, const std::string& name) {
  if (!label.starts_with(name + " ") || name.empty()) {
    return false;
  }
  for (size_t word = name.size() + 1; word < label.size();) {  // name=value name=value ...
    const size_t end = std::min(label.find(' ', word), label.size());
    const size_t equals = label.find('=', word);
    if (equals == word || equals >= end) {
      return false;
    }
    word = end + 1;
  }
  return true;
}

bool holds(const std::vector<Condition>& conditions, const Record& record) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const nlohmann::json got = dimension_value(record, condition.first);
    return std::any_of(
        condition.second.begin(), condition.second.end(), [&](const nlohmann::json& wanted) {
          return same(wanted, got) || (condition.first == "averaging" && wanted.is_string() &&
                                       names_averaging(record, wanted.get<std::string>()));
        });
  });
}

std::vector<Observation> values_of(const std::string& metric,
                                   const std::vector<Observation>& observations) {
  static const Record zero = [] {
    Record record;
    record.value = 0.0;
    return record;
  }();
  std::vector<Observation> out;
  for (const Observation& it : observations) {
    if (is_value_of(*it.record, metric)) {
      out.push_back(it);
      out.back().floating = &zero;
    }
  }
  return out;
}

SelectedCells select(const Selector& selector, const std::vector<Observation>& observations,
                     const std::string& metric) {
  SelectedCells out;
  std::vector<const Observation*> candidates;
  for (const Observation& it : observations) {
    const bool fits = metric.empty()
                          ? !it.is_float() && it.floating != nullptr && is_loss(*it.record)
                          : is_value_of(*it.record, metric);
    if (fits) {
      candidates.push_back(&it);
    }
  }
  if (candidates.empty() && !metric.empty()) {
    out.problem = fmt::format("no finished value is of {}", printable(metric));
    return out;
  }
  Test test = nullptr;
  std::string name = selector.text;
  if (!name.empty()) {
    test = meaning_of(name, candidates, out);
    if (test == nullptr) {
      return out;
    }
  }
  for (const auto& [dimension, values] : selector.conditions) {
    note_subject(dimension, out);
  }
  for (const Observation* it : candidates) {
    if (holds(selector.conditions, *it->record) && (test == nullptr || test(*it->record, name))) {
      out.found.push_back(it);
    }
  }
  if (out.found.empty()) {
    out.problem = fmt::format("no finished value has {}", printable(selector.described));
  }
  return out;
}

}  // namespace quench
