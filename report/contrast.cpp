#include "report/contrast.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/contrast_rows.hpp"
#include "report/contrast_sentence.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

// Sorts along the training; the order of the records does not matter.
void sort_rows(std::vector<ContrastRow>& rows, const std::vector<std::string>& match) {
  const auto key = [&](const ContrastRow& row) {
    nlohmann::json out = nlohmann::json::array();
    for (const std::string& name : match) {
      if (name != "checkpoint") {
        out.push_back(dimension_value(*row.a, name));
      }
    }
    for (const Record* side : {row.a, row.b}) {
      for (const char* name : {"metric", "label", "averaging", "branch", "step", "tokens"}) {
        out.push_back(side == nullptr ? nlohmann::json() : dimension_value(*side, name));
      }
    }
    return out;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const ContrastRow& x, const ContrastRow& y) { return key(x) < key(y); });
}

struct Sides {
  SelectedCells a;
  SelectedCells b;
  Pairing pairing;    // of contrasts that are made of pairs
  LinePairing lines;  // of the others
};

bool has_b(const ContrastSpec& spec) {
  return !spec.b_is_members && !spec.b.name.empty();
}

// Whether the contrast is made of pairs, and not of lines of checkpoints.
bool is_paired(const ContrastSpec& spec) {
  return !spec.at_equal_loss && spec.statistic != Statistic::kSlopeRatio &&
         (spec.statistic != Statistic::kRankCorrelation || spec.over.empty());
}

Sides sides_of(const ContrastSpec& spec, const std::vector<Observation>& observations,
               std::vector<std::string>& problems) {
  Sides out;
  out.a = select(spec.a, observations, spec.of_metric);
  add_once(out.a.problem, problems);
  if (has_b(spec)) {
    out.b = select(spec.b, observations, spec.of_metric);
    add_once(out.b.problem, problems);
  }
  if (problems.empty()) {
    if (spec.b_is_members) {
      out.pairing = pairs_with_members(spec, out.a, observations);
    } else if (is_paired(spec)) {
      out.pairing = pairs_of(spec, out.a, out.b);
    } else {
      out.lines = line_pairs_of(spec, out.a, has_b(spec) ? &out.b : nullptr, spec.at_equal_loss);
      out.pairing.match = out.lines.match;
      out.pairing.problems = out.pairing.ambiguities = out.lines.ambiguities;
    }
  }
  return out;
}

}  // namespace

Contrast contrast_of(const ContrastSpec& spec, const std::vector<Observation>& all) {
  Contrast out;
  out.spec = spec;
  const std::vector<Observation> values =
      spec.of_metric.empty() ? std::vector<Observation>() : values_of(spec.of_metric, all);
  const std::vector<Observation>& observations = spec.of_metric.empty() ? all : values;
  const Sides sides = sides_of(spec, observations, out.problems);
  if (!out.problems.empty()) {
    return out;
  }
  out.problems = sides.pairing.problems;
  ContrastRows made = spec.at_equal_loss ? equal_loss_rows(spec, sides.lines)
                      : spec.statistic == Statistic::kDifference
                          ? difference_rows(spec, sides.pairing)
                      : is_paired(spec) ? rows_over_pairs(spec, sides.pairing)
                                        : rows_over_axis(spec, sides.lines);
  out.rows = std::move(made.rows);
  for (const std::string& problem : made.problems) {
    add_once(problem, out.problems);
  }
  if (out.rows.empty() && out.problems.empty()) {
    out.problems.push_back(no_pair_text(spec, sides.a, sides.b, sides.pairing.match));
  }
  sort_rows(out.rows, sides.pairing.match);
  for (ContrastRow& row : out.rows) {
    row.sentence = sentence_of(spec, row);
  }
  out.summary = summary_of(spec, out.rows);
  return out;
}

std::vector<std::string> faults_of(const ContrastSpec& spec, const std::vector<Observation>& all) {
  const std::vector<Observation> values =
      spec.of_metric.empty() ? std::vector<Observation>() : values_of(spec.of_metric, all);
  const std::vector<Observation>& observations = spec.of_metric.empty() ? all : values;
  std::vector<std::string> unmeasured;
  const Sides sides = sides_of(spec, observations, unmeasured);
  if (!unmeasured.empty()) {
    return {};
  }
  std::vector<std::string> out = sides.pairing.ambiguities;
  if (out.empty() && sides.pairing.pairs.empty() && sides.lines.pairs.empty()) {
    out.push_back(sides.pairing.problems.empty()
                      ? no_pair_text(spec, sides.a, sides.b, sides.pairing.match)
                      : sides.pairing.problems.front());
  }
  return out;
}

nlohmann::json to_json(const Contrast& contrast) {
  const bool is_difference = contrast.spec.statistic == Statistic::kDifference;
  const auto side_json = [](const Record* record) {
    return record == nullptr ? nlohmann::json()
                             : nlohmann::json{{"key", record->key}, {"value", record->value}};
  };
  nlohmann::json rows = nlohmann::json::array();
  for (const ContrastRow& row : contrast.rows) {
    nlohmann::json spreads = nlohmann::json::array();
    for (const Spread& spread : row.spreads) {
      spreads.push_back(to_json(spread));
    }
    rows.push_back({{"what", row.what},
                    {"value", row.value},
                    {"unit", !is_difference                    ? "1"
                             : contrast.spec.of_metric.empty() ? "nats/token"
                                                               : row.a->unit},
                    {"bits_per_byte",
                     row.bits_per_byte ? nlohmann::json(*row.bits_per_byte) : nlohmann::json()},
                    {"checkpoint", row.a->checkpoint},
                    {"a", side_json(row.a)},
                    {"b", side_json(row.b)},
                    {"cells", row.cells},
                    {"spreads", spreads},
                    {"notes", row.notes},
                    {"sentence", row.sentence}});
    if (is_difference) {
      rows.back()["difference"] = row.value;
    }
  }
  return {{"a", contrast.spec.a.name},
          {"b", contrast.spec.b.name},
          {"statistic", statistic_name(contrast.spec.statistic)},
          {"of", !contrast.spec.of_metric.empty()                       ? contrast.spec.of_metric
                 : contrast.spec.of_loss || contrast.spec.at_equal_loss ? "loss"
                                                                        : "delta"},
          {"at_equal_loss", contrast.spec.at_equal_loss},
          {"over", contrast.spec.over},
          {"rows", rows},
          {"summary", contrast.summary},
          {"problems", contrast.problems}};
}

}  // namespace quench
