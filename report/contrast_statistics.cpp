// Rows that say one number of many cells.
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "report/contrast_rows.hpp"
#include "report/dimension.hpp"
#include "report/estimate.hpp"
#include "report/formulas.hpp"

namespace quench {

namespace {

double measure(bool of_values, const CellLosses& losses) {
  return of_values ? losses.quantized : losses.delta();
}

// The values of cells first, first + step, ...
std::vector<double> values_of(bool of_values, std::span<const CellLosses> cells, size_t first,
                              size_t end) {
  std::vector<double> out;
  for (size_t c = first; c < end; ++c) {
    out.push_back(measure(of_values, cells[c]));
  }
  return out;
}

struct Made {
  std::vector<Group> cells;
  Formula formula;
  std::string what;
  const Observation* a;
  const Observation* b;
  const char* missing;  // why there may be no number
};

void add_row(const ContrastSpec& spec, Made made, ContrastRows& out) {
  Estimate found = estimate(made.cells, made.formula);
  if (!found.value) {
    add_once(fmt::format("{}: {}", made.what, made.missing), out.problems);
    return;
  }
  ContrastRow row;
  row.what = std::move(made.what);
  row.a = made.a->record;
  row.b = made.b != nullptr ? made.b->record : nullptr;
  row.cells = made.cells.size();
  row.value = *found.value;
  row.spreads = std::move(found.spreads);
  row.notes = std::move(found.notes);
  add_notes(spec, *made.a, made.b, row);
  out.rows.push_back(std::move(row));
}

// Cells of a line that have a base and a place on the axis, and the places.
struct OnAxis {
  std::vector<Group> cells;
  std::vector<double> x;
};

OnAxis on_axis(const CellLine& line, const std::string& axis) {
  OnAxis out;
  for (const Group& cell : line) {
    const Observation* base = base_of(cell);
    const nlohmann::json x =
        base != nullptr ? dimension_value(*base->record, axis) : nlohmann::json();
    if (x.is_number()) {
      out.cells.push_back(cell);
      out.x.push_back(x.get<double>());
    }
  }
  return out;
}

Made slope_ratio(const ContrastSpec& spec, const OnAxis& a, const OnAxis& b) {
  Made out;
  out.cells = a.cells;
  out.cells.insert(out.cells.end(), b.cells.begin(), b.cells.end());
  const bool of_values = spec.of_values();
  out.formula = [a, b, of_values](std::span<const CellLosses> cells) -> std::optional<double> {
    const size_t split = a.x.size();
    const auto slope_a = slope(a.x, values_of(of_values, cells, 0, split));
    const auto slope_b = slope(b.x, values_of(of_values, cells, split, cells.size()));
    return slope_a && slope_b && *slope_b > 0 ? std::optional(*slope_a / *slope_b) : std::nullopt;
  };
  out.missing =
      "no ratio of slopes: each side needs 3 places on the axis, and the second slope must be "
      "above 0";
  return out;
}

Made correlation_with_axis(const ContrastSpec& spec, const OnAxis& a) {
  Made out;
  out.cells = a.cells;
  const bool of_values = spec.of_values();
  out.formula = [a, of_values](std::span<const CellLosses> cells) {
    return rank_correlation(a.x, values_of(of_values, cells, 0, cells.size()));
  };
  out.missing = "no rank correlation: it needs 3 cells, and values that differ";
  return out;
}

}  // namespace

ContrastRows rows_over_axis(const ContrastSpec& spec, const LinePairing& lines) {
  ContrastRows out;
  for (const LinePair& pair : lines.pairs) {
    const OnAxis a = on_axis(pair.a, spec.over);
    const OnAxis b = on_axis(pair.b, spec.over);
    const bool is_slope = spec.statistic == Statistic::kSlopeRatio;
    if (a.cells.empty() || (is_slope && b.cells.empty())) {
      add_once(fmt::format("{}: no cell of {} has a number there", spec.over,
                           a.cells.empty() ? spec.a.name : spec.b.name),
               out.problems);
      continue;
    }
    Made made = is_slope ? slope_ratio(spec, a, b) : correlation_with_axis(spec, a);
    made.a = base_of(a.cells.front());
    made.b = is_slope ? base_of(b.cells.front()) : nullptr;
    Freedom named = lines.free;
    if (!is_slope) {  // one side alone has one method and averaging
      named.quantizer = named.averaging = false;
    }
    made.what = common_text(*made.a, made.b != nullptr ? *made.b : *made.a, named, lines.match);
    add_row(spec, std::move(made), out);
  }
  return out;
}

ContrastRows rows_over_pairs(const ContrastSpec& spec, const Pairing& pairing) {
  ContrastRows out;
  Freedom along = pairing.free;
  along.checkpoint = true;
  std::vector<std::string> match;
  for (const std::string& name : pairing.match) {  // what is not a place along the training
    if (name != "checkpoint" && name != "step" && name != "tokens" && name != "revision") {
      match.push_back(name);
    }
  }
  std::map<std::string, std::vector<const Pair*>> lines;
  for (const Pair& pair : pairing.pairs) {
    lines[common_key(*base_of(pair.a), along, match)].push_back(&pair);
  }
  const bool of_values = spec.of_values();
  for (const auto& [key, pairs] : lines) {
    Made made;
    for (const Pair* pair : pairs) {
      made.cells.push_back(pair->a);
    }
    for (const Pair* pair : pairs) {
      made.cells.push_back(pair->b);
    }
    made.a = base_of(pairs.front()->a);
    made.b = base_of(pairs.front()->b);
    made.what = common_text(*made.a, *made.b, along, match);
    const size_t n = pairs.size();
    if (spec.statistic == Statistic::kRankCorrelation) {
      made.formula = [n, of_values](std::span<const CellLosses> cells) {
        return rank_correlation(values_of(of_values, cells, 0, n),
                                values_of(of_values, cells, n, 2 * n));
      };
      made.missing = "no rank correlation: it needs 3 pairs, and values that differ";
    } else {
      made.formula = [n, of_values](std::span<const CellLosses> cells) {
        std::vector<double> differences;
        for (size_t i = 0; i < n; ++i) {
          differences.push_back(measure(of_values, cells[i]) - measure(of_values, cells[n + i]));
        }
        return largest_over_smallest(differences);
      };
      made.missing = "no largest over smallest: it needs 2 pairs, and every difference above 0";
    }
    add_row(spec, std::move(made), out);
  }
  return out;
}

}  // namespace quench
