#include "report/selector.hpp"

#include <algorithm>

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
      dimension == "calibration" || dimension.starts_with("params.")) {
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

// The single meaning of the name in this run, or a problem that lists all candidates.
Test meaning_of(const std::string& name, const std::vector<const Observation*>& candidates,
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

SelectedCells select(const Selector& selector, const std::vector<Observation>& observations) {
  SelectedCells out;
  std::vector<const Observation*> candidates;
  for (const Observation& it : observations) {
    if (!it.is_float() && it.floating != nullptr && is_loss(*it.record)) {
      candidates.push_back(&it);
    }
  }
  Test test = nullptr;
  if (!selector.text.empty()) {
    test = meaning_of(selector.text, candidates, out);
    if (test == nullptr) {
      return out;
    }
  }
  for (const auto& [dimension, values] : selector.conditions) {
    note_subject(dimension, out);
  }
  for (const Observation* it : candidates) {
    if (holds(selector.conditions, *it->record) &&
        (test == nullptr || test(*it->record, selector.text))) {
      out.found.push_back(it);
    }
  }
  if (out.found.empty()) {
    out.problem = fmt::format("no finished value has {}", printable(selector.described));
  }
  return out;
}

}  // namespace quench
