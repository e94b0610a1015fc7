#include "report/contrast.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/selector.hpp"

namespace quench {

namespace {

using Group = std::vector<const Observation*>;

// The dimensions that either side of a contrast leaves free.
struct Freedom {
  bool quantizer = false;
  bool averaging = false;
  bool checkpoint = false;
  std::vector<std::string> sweep;  // dimensions
};

const nlohmann::json& part(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none;
  return object.is_object() && object.contains(key) ? object.at(key) : none;
}

nlohmann::json parts(const nlohmann::json& object, std::initializer_list<const char*> keys) {
  nlohmann::json out = nlohmann::json::array();
  for (const char* key : keys) {
    out.push_back(part(object, key));
  }
  return out;
}

bool is_axis(const std::string& dimension) {
  return dimension == "step" || dimension == "tokens" || dimension == "lr";
}

// What both sides must have in common, as one text; "" if a position on an axis is unknown, which
// never matches.
std::string common_key(const Observation& it, const Freedom& free,
                       const std::vector<std::string>& match) {
  const Record& record = *it.record;
  nlohmann::json key = {record.metric,
                        record.label,
                        sweep_point(record, free.sweep),
                        part(record.checkpoint, "model"),
                        parts(record.details, {"params", "corpora"}),
                        parts(record.environment, {"dtype", "device", "isa"})};
  if (!free.checkpoint) {
    key.push_back(parts(record.checkpoint, {"branch", "revision", "commit", "step", "tokens"}));
  }
  if (!free.averaging) {
    key.push_back(parts(record.averaging, {"id", "params", "label"}));
  }
  if (!free.quantizer) {
    key.push_back(parts(record.quantizer, {"id", "params", "label", "calibration"}));
  }
  for (const std::string& dimension : match) {
    const nlohmann::json value = dimension_value(record, dimension);
    if (value.is_null() && is_axis(dimension)) {
      return "";
    }
    key.push_back(value);
  }
  return key.dump();
}

std::map<std::string, Group> grouped(const Group& found, const Freedom& free,
                                     const std::vector<std::string>& match, const std::string& at) {
  std::map<std::string, Group> out;
  for (const Observation* it : found) {
    if ((at == "last" && !it->is_last) || (at == "first" && it->position > 0)) {
      continue;
    }
    const std::string key = common_key(*it, free, match);
    if (!key.empty()) {
      out[key].push_back(it);
    }
  }
  return out;
}

// The dimensions in which the cells of one side differ, for a message.
std::vector<std::string> differing(const Group& group) {
  std::vector<std::string> out;
  std::set<std::string> names(dimension_names().begin(), dimension_names().end());
  for (const Observation* it : group) {
    for (const auto& item : part(it->record->quantizer, "params").items()) {
      names.insert("params." + item.key());
    }
    const nlohmann::json point = sweep_point(*it->record);
    if (point.is_object()) {
      for (const auto& item : point.items()) {
        names.insert("sweep." + item.key());
      }
    }
  }
  names.erase("seed");
  names.erase("job");
  for (const std::string& name : names) {
    const nlohmann::json first = dimension_value(*group[0]->record, name);
    if (std::any_of(group.begin(), group.end(), [&](const Observation* it) {
          return dimension_value(*it->record, name) != first;
        })) {
      out.push_back(name);
    }
  }
  return out;
}

size_t cells_in(const Group& group) {
  std::set<std::string> cells;
  for (const Observation* it : group) {
    cells.insert(it->cell);
  }
  return cells.size();
}

const Observation* base_of(const Group& group) {
  const Observation* best = nullptr;
  for (const Observation* it : group) {
    if (it->is_base() && (best == nullptr || it->seed < best->seed)) {
      best = it;
    }
  }
  return best;
}

// ΔCE of the replicates of one kind (by draw, by jitter or by seed); all else equals the base.
std::map<int64_t, double> replicates(const Group& group, const Observation& base, SpreadKind kind) {
  std::map<int64_t, double> out;
  for (const Observation* it : group) {
    const bool draw = kind == SpreadKind::kDraws;
    const bool jitter = kind == SpreadKind::kJitter;
    const bool seed = kind == SpreadKind::kSeeds;
    if ((draw || it->draw == 0) && (jitter || it->jitter == 0) && (seed || it->seed == base.seed)) {
      out[seed     ? it->seed
          : jitter ? static_cast<int64_t>(it->jitter)
                   : static_cast<int64_t>(it->draw)] = it->delta();
    }
  }
  return out;
}

// The differences over replicates: pairwise if both sides have them; against the single value of a
// side that cannot have this kind.
std::vector<double> differences(const std::map<int64_t, double>& a,
                                const std::map<int64_t, double>& b, bool a_fixed, bool b_fixed) {
  std::vector<double> out;
  for (const auto& [index, value] : a_fixed ? b : a) {
    const auto in_a = a_fixed ? a.begin() : a.find(index);
    const auto in_b = b_fixed ? b.begin() : b.find(index);
    if (in_a != a.end() && in_b != b.end()) {
      out.push_back(in_a->second - in_b->second);
    }
  }
  return out;
}

void add_items(const Observation& a, const Observation& b, ContrastRow& row) {
  const std::vector<double> of_a = a.item_deltas();
  const std::vector<double> of_b = b.item_deltas();
  if (of_a.size() < 2 || of_a.size() != of_b.size()) {
    row.notes.emplace_back("No spread over validation items: the sides share fewer than 2.");
    return;
  }
  std::vector<double> paired;
  for (size_t i = 0; i < of_a.size(); ++i) {
    paired.push_back(of_a[i] - of_b[i]);
  }
  row.spreads.push_back(spread_of(SpreadKind::kItems, paired));
}

void add_replicates(const Group& in_a, const Group& in_b, const Observation& a,
                    const Observation& b, SpreadKind kind, ContrastRow& row) {
  // Draws and orders apply to calibration data: a method without it has a single value.
  const bool by_nature = kind != SpreadKind::kSeeds;
  const bool a_fixed = by_nature && !a.is_calibrated();
  const bool b_fixed = by_nature && !b.is_calibrated();
  if (a_fixed && b_fixed) {
    return;
  }
  const std::vector<double> paired =
      differences(replicates(in_a, a, kind), replicates(in_b, b, kind), a_fixed, b_fixed);
  if (paired.size() >= 2) {
    row.spreads.push_back(spread_of(kind, paired));
  } else if (kind == SpreadKind::kDraws) {
    row.notes.emplace_back("One calibration draw: no interval over draws.");
  }
}

std::string side_name(const Selector& side) {
  return side.name;
}

// For people: "3 bits, decay, step400", what both sides have in common.
std::string common_text(const Observation& it, const Observation& other, const Freedom& free,
                        const std::vector<std::string>& match) {
  std::vector<std::string> dimensions = match;
  const auto add = [&](const char* name) {
    if (std::find(dimensions.begin(), dimensions.end(), name) == dimensions.end() &&
        !dimension_value(*it.record, name).is_null()) {
      dimensions.emplace_back(name);
    }
  };
  const auto equal = [&](const char* name) {
    return dimension_value(*it.record, name) == dimension_value(*other.record, name);
  };
  if (!free.quantizer || equal("label")) {
    add("label");
  }
  if (!free.averaging || equal("averaging")) {
    add("averaging");
  }
  if (!free.checkpoint) {
    add("branch");
    add("checkpoint");
  }
  if (!it.record->label.empty() && it.record->label != it.record->metric) {
    add("metric");
  }
  std::vector<std::string> words;
  words.reserve(dimensions.size());
  for (const std::string& name : dimensions) {
    words.push_back(dimension_text(name, dimension_value(*it.record, name)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// For people: "−0.0152", a real minus sign and four significant digits.
std::string signed_text(double value) {
  const std::string digits = fmt::format("{:.4g}", std::abs(value));
  return (value < 0 ? "\u2212" : value > 0 ? "+" : "") + digits;
}

std::string verdict(const ContrastSpec& spec, const ContrastRow& row) {
  const std::string cheaper = side_name(row.difference < 0 ? spec.a : spec.b);
  std::vector<std::string> unclear;
  for (const Spread& spread : row.spreads) {
    if (!spread.interval->excludes(0) || (spread.interval->high < 0) != (row.difference < 0)) {
      unclear.push_back(spread_text(spread.kind, spread.n));
    }
  }
  if (row.spreads.empty()) {
    return "No spread is known, so neither can be called cheaper.";
  }
  if (!unclear.empty()) {
    return fmt::format("Not told apart from 0 over {}.", fmt::join(unclear, " and "));
  }
  std::vector<std::string> over;
  over.reserve(row.spreads.size());
  for (const Spread& spread : row.spreads) {
    over.push_back(spread_text(spread.kind, spread.n));
  }
  return fmt::format("{} costs less, over {}.", cheaper, fmt::join(over, " and over "));
}

std::string sentence_of(const ContrastSpec& spec, const ContrastRow& row) {
  std::string out = fmt::format("{} \u2212 {}, {}: \u0394CE {} nats/token", side_name(spec.a),
                                side_name(spec.b), row.what, signed_text(row.difference));
  if (row.bits_per_byte) {
    out += fmt::format(" ({} bits/byte)", signed_text(*row.bits_per_byte));
  }
  out += ".";
  for (const Spread& spread : row.spreads) {
    out += fmt::format(" Over {}, paired: {}, 95 % t interval [{}, {}].",
                       spread_text(spread.kind, spread.n), signed_text(spread.mean),
                       signed_text(spread.interval->low), signed_text(spread.interval->high));
  }
  out += " " + verdict(spec, row);
  for (const std::string& note : row.notes) {
    out += " " + note;
  }
  return out;
}

ContrastRow row_of(const ContrastSpec& spec, const Group& in_a, const Group& in_b,
                   const Freedom& free, const std::vector<std::string>& match) {
  const Observation& a = *base_of(in_a);
  const Observation& b = *base_of(in_b);
  ContrastRow row;
  row.a = a.record;
  row.b = b.record;
  row.what = common_text(a, b, free, match);
  row.difference = a.delta() - b.delta();
  if (const double factor = a.bits_per_byte(); factor > 0) {
    row.bits_per_byte = row.difference * factor;
  }
  add_items(a, b, row);
  for (const SpreadKind kind : {SpreadKind::kDraws, SpreadKind::kJitter, SpreadKind::kSeeds}) {
    add_replicates(in_a, in_b, a, b, kind, row);
  }
  const bool one_method =
      dimension_value(*a.record, "label") == dimension_value(*b.record, "label");
  std::vector<std::string> fixed;
  for (const auto& [side, it] : {std::pair(&spec.a, &a), std::pair(&spec.b, &b)}) {
    const std::string name =
        one_method ? value_text(dimension_value(*it->record, "quantizer")) : side_name(*side);
    if (!it->is_calibrated() && std::find(fixed.begin(), fixed.end(), name) == fixed.end()) {
      fixed.push_back(name);
    }
  }
  for (const std::string& name : fixed) {
    row.notes.push_back(fmt::format("{} uses no calibration data.", name));
  }
  const bool several_seeds = std::any_of(row.spreads.begin(), row.spreads.end(), [](const auto& s) {
    return s.kind == SpreadKind::kSeeds;
  });
  if (!several_seeds) {
    row.notes.emplace_back("One training run.");
  }
  row.sentence = sentence_of(spec, row);
  return row;
}

// Why a group of one side gives no pair, or "".
std::string refusal(const Selector& side, const Group& group) {
  if (cells_in(group) > 1) {
    return fmt::format(
        "{}: {} cells agree in all dimensions to match and differ in {}; select one, or add it "
        "to `match`",
        side_name(side), cells_in(group), fmt::join(differing(group), ", "));
  }
  return base_of(group) == nullptr
             ? fmt::format("{}: {}: draw 0 is missing", side_name(side),
                           value_text(dimension_value(*group[0]->record, "checkpoint")))
             : "";
}

void add_once(const std::string& text, std::vector<std::string>& list) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(text);
  }
}

std::string summary_of(const Contrast& contrast) {
  if (contrast.rows.size() < 2) {
    return "";
  }
  size_t below = 0;
  double low = contrast.rows[0].difference;
  double high = low;
  for (const ContrastRow& row : contrast.rows) {
    below += row.difference < 0 ? 1 : 0;
    low = std::min(low, row.difference);
    high = std::max(high, row.difference);
  }
  return fmt::format(
      "{} costs less than {} in {} of {} pairs; differences of \u0394CE from {} to {} nats/token. "
      "Pairs along one training run are not independent, so their number is not a sample size; "
      "each "
      "interval stands for itself, with no correction for looking at many.",
      contrast.spec.a.name, contrast.spec.b.name, below, contrast.rows.size(), signed_text(low),
      signed_text(high));
}

// Sorts along the training; the order of the records does not matter.
void sort_rows(std::vector<ContrastRow>& rows, const std::vector<std::string>& match) {
  const auto key = [&](const ContrastRow& row) {
    nlohmann::json out = nlohmann::json::array();
    for (const std::string& name : match) {
      if (name != "checkpoint") {
        out.push_back(dimension_value(*row.a, name));
      }
    }
    for (const char* name : {"metric", "label", "averaging", "branch", "step", "tokens"}) {
      out.push_back(dimension_value(*row.a, name));
    }
    return out;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const ContrastRow& x, const ContrastRow& y) { return key(x) < key(y); });
}

}  // namespace

Contrast contrast_of(const ContrastSpec& spec, const std::vector<Observation>& observations) {
  Contrast out;
  out.spec = spec;
  const Selection a = select(spec.a, observations);
  const Selection b = select(spec.b, observations);
  add_once(a.problem, out.problems);
  add_once(b.problem, out.problems);
  if (!out.problems.empty()) {
    return out;
  }
  Freedom free = {a.by_quantizer || b.by_quantizer, a.by_averaging || b.by_averaging,
                  a.by_checkpoint || b.by_checkpoint, a.by_sweep};
  free.sweep.insert(free.sweep.end(), b.by_sweep.begin(), b.by_sweep.end());
  std::vector<std::string> match = {"bits"};
  if (!free.checkpoint) {
    match.emplace_back("checkpoint");
  }
  match = spec.match.value_or(match);
  const auto of_a = grouped(a.found, free, match, spec.at);
  const auto of_b = grouped(b.found, free, match, spec.at);
  for (const auto& [key, in_a] : of_a) {
    const auto found = of_b.find(key);
    if (found == of_b.end()) {
      continue;
    }
    const std::string no_a = refusal(spec.a, in_a);
    const std::string no_b = refusal(spec.b, found->second);
    add_once(no_a, out.problems);
    add_once(no_b, out.problems);
    if (no_a.empty() && no_b.empty()) {
      out.rows.push_back(row_of(spec, in_a, found->second, free, match));
    }
  }
  if (out.rows.empty() && out.problems.empty()) {
    out.problems.push_back(fmt::format("no cell of {} agrees with one of {} in {}", spec.a.name,
                                       spec.b.name, fmt::join(match, ", ")));
  }
  sort_rows(out.rows, match);
  out.summary = summary_of(out);
  return out;
}

nlohmann::json to_json(const Contrast& contrast) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ContrastRow& row : contrast.rows) {
    nlohmann::json spreads = nlohmann::json::array();
    for (const Spread& spread : row.spreads) {
      spreads.push_back(to_json(spread));
    }
    rows.push_back({{"what", row.what},
                    {"difference", row.difference},
                    {"unit", "nats/token"},
                    {"bits_per_byte",
                     row.bits_per_byte ? nlohmann::json(*row.bits_per_byte) : nlohmann::json()},
                    {"checkpoint", row.a->checkpoint},
                    {"a", {{"key", row.a->key}, {"value", row.a->value}}},
                    {"b", {{"key", row.b->key}, {"value", row.b->value}}},
                    {"spreads", spreads},
                    {"notes", row.notes},
                    {"sentence", row.sentence}});
  }
  return {{"a", contrast.spec.a.name},
          {"b", contrast.spec.b.name},
          {"rows", rows},
          {"summary", contrast.summary},
          {"problems", contrast.problems}};
}

}  // namespace quench
