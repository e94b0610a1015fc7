#include "report/contrast_rows.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/dimension.hpp"
#include "report/estimate.hpp"
#include "report/formulas.hpp"
#include "report/item_sample.hpp"

namespace quench {

namespace {

double measure(const ContrastSpec& spec, const CellLosses& losses) {
  return spec.of_values() ? losses.quantized : losses.delta();
}

double measure(const ContrastSpec& spec, const Observation& it) {
  return spec.of_values() ? it.value() : it.delta();
}

void add_items(const ContrastSpec& spec, const Observation& a, const Observation& b,
               ContrastRow& row) {
  std::vector<const Record*> records = {a.record, b.record};
  if (!spec.of_values()) {
    records.insert(records.end(), {a.floating, b.floating});
  }
  const std::optional<ItemSample> sample = common_sample(records);
  if (!sample) {
    if (spec.of_metric.empty()) {  // other metrics need not have items
      row.notes.emplace_back("No spread over validation items: the sides share fewer than 2.");
    }
    return;
  }
  std::vector<double> paired(sample->count());
  const double signs[] = {1, -1, -1, 1};
  for (size_t r = 0; r < records.size(); ++r) {
    const std::vector<double> sums = unit_sums(*records[r], *sample);
    for (size_t u = 0; u < paired.size(); ++u) {
      paired[u] += signs[r] * sums[u];
    }
  }
  row.spreads.push_back(item_spread(*sample, paired));
}

// The differences over replicates: pairwise if both sides have them; against the single value of a
// side that cannot have this kind.
void add_replicates(const ContrastSpec& spec, const Pair& pair, SpreadKind kind, ContrastRow& row) {
  const bool a_fixed = is_fixed(pair.a, kind);
  const bool b_fixed = is_fixed(pair.b, kind);
  if (a_fixed && b_fixed) {
    return;
  }
  const std::map<int64_t, CellLosses> a = replicates_of(pair.a, kind);
  const std::map<int64_t, CellLosses> b = replicates_of(pair.b, kind);
  std::vector<double> paired;
  for (const auto& [index, losses] : a_fixed ? b : a) {
    const auto in_a = a_fixed ? a.begin() : a.find(index);
    const auto in_b = b_fixed ? b.begin() : b.find(index);
    if (in_a != a.end() && in_b != b.end()) {
      paired.push_back(measure(spec, in_a->second) - measure(spec, in_b->second));
    }
  }
  if (paired.size() >= 2) {
    row.spreads.push_back(spread_of(kind, paired));
  } else if (kind == SpreadKind::kDraws) {
    row.notes.emplace_back("One calibration draw: no interval over draws.");
  }
}

// What tells a pair from others with the same common text: the dimensions that one side leaves
// open, those that people know by name first.
std::string open_text(const Pair& pair, const Observation& a, const Observation& b) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& name) {
    for (const Observation* it : {&a, &b}) {
      const Group& others = it == &a ? pair.b : pair.a;
      const nlohmann::json value = dimension_value(*it->record, name);
      if (value != dimension_value(*others.front()->record, name) && words.empty()) {
        words.push_back(dimension_text(name, value));
      }
    }
  };
  for (const char* name : {"label", "averaging", "branch", "checkpoint"}) {
    if (words.empty() && std::find(pair.open.begin(), pair.open.end(), name) != pair.open.end()) {
      add(name);
    }
  }
  for (size_t i = 0; i < pair.open.size() && words.empty(); ++i) {
    add(pair.open[i]);
  }
  return words.empty() ? "" : ", " + words.front();
}

ContrastRow row_of(const ContrastSpec& spec, const Pair& pair, const Pairing& pairing) {
  const Observation& a = *base_of(pair.a);
  const Observation& b = *base_of(pair.b);
  ContrastRow row;
  row.a = a.record;
  row.b = b.record;
  row.what = common_text(a, b, pairing.free, pairing.match) + open_text(pair, a, b);
  if (spec.b_is_members) {
    row.what += fmt::format("{}{}, member {}", row.what.empty() ? "" : ", ",
                            value_text(dimension_value(*a.record, "checkpoint")),
                            value_text(dimension_value(*b.record, "checkpoint")));
    // Ends of several branches have checkpoints of one name.
    const nlohmann::json branch = dimension_value(*b.record, "branch");
    const bool alone = std::all_of(pairing.pairs.begin(), pairing.pairs.end(), [&](const Pair& at) {
      return base_of(at.a) != &a || dimension_value(*base_of(at.b)->record, "branch") == branch;
    });
    if (!branch.is_null() && (!alone || branch != dimension_value(*a.record, "branch"))) {
      row.what += " of " + value_text(branch);
    }
  }
  row.value = measure(spec, a) - measure(spec, b);
  if (const double factor = a.bits_per_byte(); factor > 0) {
    row.bits_per_byte = row.value * factor;
  }
  add_items(spec, a, b, row);
  for (const SpreadKind kind : {SpreadKind::kDraws, SpreadKind::kJitter, SpreadKind::kSeeds}) {
    add_replicates(spec, pair, kind, row);
  }
  add_notes(spec, a, &b, row);
  return row;
}

// A line of checkpoints of one side, with a base each.
struct Line {
  std::vector<Group> cells;
  std::vector<double> floating;
};

Line line_of(const std::vector<Group>& cells) {
  Line out;
  for (const Group& cell : cells) {
    if (const Observation* base = base_of(cell)) {
      out.cells.push_back(cell);
      out.floating.push_back(base->floating->value.get<double>());
    }
  }
  return out;
}

// The quantized loss of each side at the lowest float loss that both reach.
class EqualLoss {
 public:
  explicit EqualLoss(size_t of_a) : of_a_(of_a) {}

  struct Place {
    double loss;
    Crossing a;
    Crossing b;
  };
  std::optional<Place> place(std::span<const double> a, std::span<const double> b) const {
    const double loss =
        std::max(*std::min_element(a.begin(), a.end()), *std::min_element(b.begin(), b.end()));
    const std::optional<Crossing> in_a = last_crossing(a, loss);
    const std::optional<Crossing> in_b = last_crossing(b, loss);
    return in_a && in_b ? std::optional(Place{loss, *in_a, *in_b}) : std::nullopt;
  }
  std::optional<double> operator()(std::span<const CellLosses> cells) const {
    std::vector<double> floating[2];
    std::vector<double> quantized[2];
    for (size_t c = 0; c < cells.size(); ++c) {
      floating[c < of_a_ ? 0 : 1].push_back(cells[c].floating);
      quantized[c < of_a_ ? 0 : 1].push_back(cells[c].quantized);
    }
    const std::optional<Place> found = place(floating[0], floating[1]);
    return found
               ? std::optional(value_at(quantized[0], found->a) - value_at(quantized[1], found->b))
               : std::nullopt;
  }

 private:
  size_t of_a_;
};

std::string range_text(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.4f} to {:.4f}", *low, *high);
}

std::string checkpoint_text(const Group& cell) {
  return value_text(dimension_value(*cell.front()->record, "checkpoint"));
}

// Where a line is crossed: "at step 600", or "between step 450 and step 600".
std::string crossing_text(const Line& line, const Crossing& crossing) {
  return crossing.share == 0
             ? "at " + checkpoint_text(line.cells[crossing.first])
             : fmt::format("between {} and {}", checkpoint_text(line.cells[crossing.first]),
                           checkpoint_text(line.cells[crossing.first + 1]));
}

// Why a line between two checkpoints would be a guess, or "".
std::string too_far(const ContrastSpec& spec, const Selector& side, const Line& line,
                    const Crossing& crossing) {
  if (crossing.share == 0) {
    return "";
  }
  const double apart = std::abs(line.floating[crossing.first] - line.floating[crossing.first + 1]);
  return apart <= spec.within
             ? ""
             : fmt::format(
                   "{}: the float losses {} are {:.3g} nats per token apart, wanted at most {:g} "
                   "(`within`): measure checkpoints between them",
                   side.name, crossing_text(line, crossing), apart, spec.within);
}

void add_equal_loss_row(const ContrastSpec& spec, const LinePairing& lines, const Line& a,
                        const Line& b, ContrastRows& out) {
  if (a.cells.empty() || b.cells.empty()) {
    add_once("draw 0 is missing along a whole line of checkpoints", out.problems);
    return;
  }
  const EqualLoss formula(a.cells.size());
  const auto place = formula.place(a.floating, b.floating);
  const Observation& first_a = *base_of(a.cells.front());
  const Observation& first_b = *base_of(b.cells.front());
  const std::string what =
      common_text(first_a, first_b, lines.free, lines.match) +
      open_text({a.cells.front(), b.cells.front(), lines.open}, first_a, first_b);
  if (!place) {
    add_once(fmt::format("{}: the float losses of {} ({}) and of {} ({}) do not overlap", what,
                         spec.a.name, range_text(a.floating), spec.b.name, range_text(b.floating)),
             out.problems);
    return;
  }
  for (const std::string& problem :
       {too_far(spec, spec.a, a, place->a), too_far(spec, spec.b, b, place->b)}) {
    if (!problem.empty()) {
      add_once(fmt::format("{}: {}", what, problem), out.problems);
      return;
    }
  }
  std::vector<Group> cells = a.cells;
  cells.insert(cells.end(), b.cells.begin(), b.cells.end());
  Estimate made = estimate(cells, formula);
  ContrastRow row;
  row.what = fmt::format("{}{}a float loss of {:.4f}", what, what.empty() ? "" : ", ", place->loss);
  row.a = base_of(a.cells[place->a.first])->record;
  row.b = base_of(b.cells[place->b.first])->record;
  row.cells = cells.size();
  row.value = *made.value;
  if (const double factor = first_a.bits_per_byte(); factor > 0) {
    row.bits_per_byte = row.value * factor;
  }
  row.spreads = std::move(made.spreads);
  row.notes = std::move(made.notes);
  row.notes.push_back(fmt::format("{} has that float loss {}, {} {}.", spec.a.name,
                                  crossing_text(a, place->a), spec.b.name,
                                  crossing_text(b, place->b)));
  add_notes(spec, first_a, &first_b, row);
  out.rows.push_back(std::move(row));
}

}  // namespace

void add_notes(const ContrastSpec& spec, const Observation& a, const Observation* b,
               ContrastRow& row) {
  const bool one_method =
      b == nullptr || dimension_value(*a.record, "label") == dimension_value(*b->record, "label");
  std::vector<std::string> fixed;
  for (const auto& [side, it] : {std::pair(&spec.a, &a), std::pair(&spec.b, b)}) {
    if (it == nullptr) {
      continue;
    }
    const std::string name =
        one_method ? value_text(dimension_value(*it->record, "quantizer")) : side->name;
    if (!it->is_float() && !it->is_calibrated()) {
      add_once(name, fixed);
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
}

ContrastRows difference_rows(const ContrastSpec& spec, const Pairing& pairing) {
  ContrastRows out;
  for (const Pair& pair : pairing.pairs) {
    out.rows.push_back(row_of(spec, pair, pairing));
  }
  return out;
}

ContrastRows equal_loss_rows(const ContrastSpec& spec, const LinePairing& lines) {
  ContrastRows out;
  for (const LinePair& pair : lines.pairs) {
    add_equal_loss_row(spec, lines, line_of(pair.a), line_of(pair.b), out);
  }
  return out;
}

}  // namespace quench
