#include "report/cell_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "report/dimension.hpp"
#include "report/item_sample.hpp"
#include "report/point_names.hpp"
#include "report/spread.hpp"

namespace quench {

namespace {

using Cell = CellTable::Cell;

Cell text_cell(const nlohmann::json& value) {
  return value.is_null() ? Cell{} : Cell{value, value_text(value)};
}

Cell number_cell(double value, const char* format) {
  return {value, fmt::format(fmt::runtime(format), value)};
}

// 1.5B, 300M, 120k: as names of revisions have it.
Cell count_cell(const nlohmann::json& value) {
  if (!value.is_number()) {
    return {};
  }
  const double number = value.get<double>();
  for (const auto& [unit, size] : {std::pair("T", 1e12), {"B", 1e9}, {"M", 1e6}, {"k", 1e3}}) {
    if (std::abs(number) >= 10 * size || (std::abs(number) >= size && size > 1e3)) {
      return {value, fmt::format("{:.4g}{}", number / size, unit)};
    }
  }
  return {value, fmt::format("{:g}", number)};
}

Cell spread_cell(const Spread& spread) {
  if (!spread.interval) {
    return {};
  }
  const double half = spread.interval->high - spread.mean;
  return {spread.mean, fmt::format("{:.4f} ± {:.4f} (n = {})", spread.mean, half, spread.n)};
}

std::vector<double> deltas(const std::vector<const Observation*>& cell, SpreadKind kind) {
  std::vector<double> out;
  for (const Observation* it : cell) {
    const bool same_draw = it->draw == cell[0]->draw || kind == SpreadKind::kDraws;
    const bool same_jitter = it->jitter == cell[0]->jitter || kind == SpreadKind::kJitter;
    const bool same_seed = it->seed == cell[0]->seed || kind == SpreadKind::kSeeds;
    if (same_draw && same_jitter && same_seed && it->floating != nullptr) {
      out.push_back(it->delta());
    }
  }
  return out;
}

// Adds one column per kind of replicate; n is their number.
void add_spreads(const std::vector<const Observation*>& cell, std::vector<Cell>& row) {
  const Observation& base = *cell[0];
  const std::optional<Spread> items = delta_spread(base);
  row.push_back(items ? spread_cell(*items) : Cell{});
  for (const SpreadKind kind : {SpreadKind::kDraws, SpreadKind::kJitter, SpreadKind::kSeeds}) {
    const std::vector<double> values = base.is_float() ? std::vector<double>() : deltas(cell, kind);
    row.push_back(values.size() < 2 ? Cell{} : spread_cell(spread_of(kind, values)));
  }
}

std::map<nlohmann::json, std::string> points_of(const std::vector<Observation>& observations) {
  std::set<nlohmann::json> points;
  for (const Observation& it : observations) {
    points.insert(sweep_point(*it.record));
  }
  return point_names(points);
}

std::vector<Cell> row_of(const std::vector<const Observation*>& cell,
                         const std::map<nlohmann::json, std::string>& points) {
  const Observation& base = *cell[0];
  const Record& record = *base.record;
  std::vector<Cell> row;
  const nlohmann::json point = sweep_point(record);
  const std::string& called = points.at(point);
  row.push_back(called.empty() || !point.is_object() ? Cell{} : Cell{called, called});
  for (const char* name : {"model", "branch", "checkpoint"}) {
    row.push_back(text_cell(dimension_value(record, name)));
  }
  row.push_back(text_cell(dimension_value(record, "step")));
  row.push_back(count_cell(dimension_value(record, "tokens")));
  const nlohmann::json rate = dimension_value(record, "lr");
  row.push_back(rate.is_number() ? Cell{rate, fmt::format("{:.3g}", rate.get<double>())} : Cell{});
  row.push_back(text_cell(dimension_value(record, "averaging")));
  row.push_back(base.is_float() ? Cell{"float", "float"}
                                : text_cell(dimension_value(record, "label")));
  const bool has_bits = !base.is_float() && record.quantizer.contains("bits_per_weight") &&
                        record.quantizer.at("bits_per_weight").is_number();
  row.push_back(has_bits
                    ? number_cell(record.quantizer.at("bits_per_weight").get<double>(), "{:.3g}")
                    : Cell{});
  row.push_back(count_cell(dimension_value(record, "bytes")));
  std::string metric = record.label.empty() || record.label == record.metric
                           ? record.metric
                           : record.metric + ", " + record.label;
  if (!base.text.empty()) {
    metric += ", " + base.text;
  }
  row.push_back({record.metric, std::move(metric)});
  row.push_back(number_cell(base.value(), "{:.5f}"));
  row.push_back(record.standard_error.is_number()
                    ? number_cell(record.standard_error.get<double>(), "{:.5f}")
                    : Cell{});
  row.push_back({record.unit, record.unit});
  const bool has_delta = !base.is_float() && base.floating != nullptr;
  row.push_back(has_delta ? number_cell(base.delta(), "{:.5f}") : Cell{});
  row.push_back(has_delta && is_loss(record) ? number_cell(100 * base.error(), "{:.3f}") : Cell{});
  add_spreads(cell, row);
  return row;
}

// Drops columns that are empty in every row or equal in every row.
void drop_empty_columns(CellTable& table) {
  for (size_t c = table.columns.size(); c-- > 0;) {
    const auto is_empty = [&](const std::vector<Cell>& row) { return row[c].value.is_null(); };
    const auto is_first = [&](const std::vector<Cell>& row) {
      return row[c].value == table.rows[0][c].value;
    };
    const bool same_model = table.columns[c].title == "model" &&
                            std::all_of(table.rows.begin(), table.rows.end(), is_first);
    if (same_model || std::all_of(table.rows.begin(), table.rows.end(), is_empty)) {
      table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
      for (auto& row : table.rows) {
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
      }
    }
  }
}

}  // namespace

CellTable make_cell_table(const std::vector<Observation>& observations) {
  CellTable out;
  out.columns = {
      {"point", false, "what tells the point of the sweep from the others, beside the seed"},
      {"model", false, ""},
      {"branch", false, ""},
      {"checkpoint", false, ""},
      {"step", true, "training step"},
      {"tokens", true, "training tokens seen"},
      {"lr", true, "learning rate"},
      {"averaging", false, ""},
      {"method", false, "label of the quantizer; float: the model as it was trained"},
      {"bits", true, "stored bits per weight, including scales and zeros"},
      {"bytes", true, "of all weights as they are stored, the others in the checkpoint's type"},
      {"metric", false, ""},
      {"value", true, ""},
      {"SE", true, "standard error of the value over validation items"},
      {"unit", false, ""},
      {"Δ", true, "value minus that of the float model with the same weights"},
      {"ΔQL %", true, "quantized/float − 1"},
      {"Δ over items", true, "95 % t interval over validation items, paired with the float model"},
      {"Δ over draws", true, "95 % t interval over calibration draws"},
      {"Δ over jitter", true, "95 % t interval over orders of the same calibration rows"},
      {"Δ over seeds", true, "95 % t interval over seeds"}};
  const auto points = points_of(observations);
  std::map<std::string, size_t> cells;
  std::vector<std::vector<const Observation*>> members;
  for (const Observation& it : observations) {
    const auto [found, is_new] = cells.emplace(it.cell + it.record->metric, members.size());
    if (is_new) {
      members.emplace_back();
    }
    members[found->second].push_back(&it);
  }
  for (auto& cell : members) {
    std::stable_sort(cell.begin(), cell.end(), [](const Observation* x, const Observation* y) {
      return std::tuple(x->draw, x->jitter, x->seed) < std::tuple(y->draw, y->jitter, y->seed);
    });
    for (const Observation* it : cell) {
      out.row_of[it->record] = out.rows.size();
    }
    out.rows.push_back(row_of(cell, points));
  }
  drop_empty_columns(out);
  return out;
}

}  // namespace quench
