#include "report/estimate.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "report/item_sample.hpp"

namespace quench {

namespace {

// More resamples without a value than the interval leaves out on a side: then it has no end there.
constexpr double kMostUndefined = (1 - kConfidence) / 2;

CellLosses losses_of(const Observation& it) {
  return {it.floating->value.get<double>(), it.value()};
}

double deviation_of(const std::vector<double>& values) {
  return *spread_of(SpreadKind::kItems, values).deviation;
}

void add_items(const std::vector<Group>& cells, const Formula& formula, Estimate& out) {
  std::vector<const Record*> records;
  for (const Group& cell : cells) {
    const Observation* base = base_of(cell);
    records.insert(records.end(), {base->floating, base->record});
  }
  const std::optional<ItemSample> sample = common_sample(records);
  if (!sample) {
    out.notes.emplace_back("No spread over validation items: the cells share fewer than 2.");
    return;
  }
  std::map<const Record*, size_t> places;  // a float model serves several cells
  std::vector<std::vector<double>> sums;
  for (const Record* record : records) {
    if (places.emplace(record, sums.size()).second) {
      sums.push_back(unit_sums(*record, *sample));
    }
  }
  Spread spread;
  spread.kind = SpreadKind::kItems;
  spread.n = sample->count();
  spread.run = sample->run();
  spread.documents = sample->by_documents ? sample->count() : 0;
  spread.degrees_of_freedom = sample->degrees_of_freedom();
  spread.is_resampled = true;
  spread.mean = *out.value;
  std::vector<double> means(sums.size());
  std::vector<CellLosses> losses(cells.size());
  for (const std::vector<uint32_t>& counts : resampled_counts(*sample)) {
    for (size_t s = 0; s < sums.size(); ++s) {
      means[s] = resampled_mean(*sample, sums[s], counts);
    }
    for (size_t c = 0; c < cells.size(); ++c) {
      losses[c] = {means[places.at(records[2 * c])], means[places.at(records[2 * c + 1])]};
    }
    if (const std::optional<double> value = formula(losses)) {
      spread.resampled.push_back(*value);
    }
  }
  const double undefined =
      1 - static_cast<double>(spread.resampled.size()) / static_cast<double>(kResamples);
  if (undefined > kMostUndefined) {
    out.notes.push_back(
        fmt::format("No interval over validation items: in {:.0f} % of the resamples there is no "
                    "such number.",
                    100 * undefined));
    return;
  }
  std::sort(spread.resampled.begin(), spread.resampled.end());
  spread.standard_error = deviation_of(spread.resampled);
  spread.deviation = spread.standard_error;
  spread.interval = quantile_interval(spread.resampled, kConfidence);
  out.spreads.push_back(std::move(spread));
}

void add_replicates(const std::vector<Group>& cells, const Formula& formula, SpreadKind kind,
                    Estimate& out) {
  std::vector<std::map<int64_t, CellLosses>> of_cells;
  std::optional<std::set<int64_t>> common;
  for (const Group& cell : cells) {
    of_cells.push_back(replicates_of(cell, kind));
    if (is_fixed(cell, kind)) {
      continue;
    }
    std::set<int64_t> indices;
    for (const auto& [index, losses] : of_cells.back()) {
      if (!common || common->count(index) > 0) {
        indices.insert(index);
      }
    }
    common = indices;
  }
  if (!common) {
    return;
  }
  std::vector<double> values;
  for (const int64_t index : *common) {
    std::vector<CellLosses> losses;
    for (size_t c = 0; c < cells.size(); ++c) {
      losses.push_back(is_fixed(cells[c], kind) ? of_cells[c].begin()->second
                                                : of_cells[c].at(index));
    }
    if (const std::optional<double> value = formula(losses)) {
      values.push_back(*value);
    } else {
      out.notes.push_back(fmt::format("{} {}: there is no such number.", spread_name(kind), index));
    }
  }
  if (values.size() >= 2) {
    out.spreads.push_back(spread_of(kind, values));
  } else if (kind == SpreadKind::kDraws) {
    out.notes.emplace_back("One calibration draw: no interval over draws.");
  }
}

}  // namespace

std::map<int64_t, CellLosses> replicates_of(const Group& cell, SpreadKind kind) {
  const Observation& base = *base_of(cell);
  std::map<int64_t, CellLosses> out;
  for (const Observation* it : cell) {
    const bool draw = kind == SpreadKind::kDraws;
    const bool jitter = kind == SpreadKind::kJitter;
    const bool seed = kind == SpreadKind::kSeeds;
    if ((draw || it->draw == 0) && (jitter || it->jitter == 0) && (seed || it->seed == base.seed)) {
      out[seed     ? it->seed
          : jitter ? static_cast<int64_t>(it->jitter)
                   : static_cast<int64_t>(it->draw)] = losses_of(*it);
    }
  }
  return out;
}

bool is_fixed(const Group& cell, SpreadKind kind) {
  return kind != SpreadKind::kSeeds && !base_of(cell)->is_calibrated();
}

Estimate estimate(const std::vector<Group>& cells, const Formula& formula) {
  Estimate out;
  std::vector<CellLosses> losses;
  losses.reserve(cells.size());
  for (const Group& cell : cells) {
    losses.push_back(losses_of(*base_of(cell)));
  }
  out.value = formula(losses);
  if (!out.value) {
    return out;
  }
  add_items(cells, formula, out);
  for (const SpreadKind kind : {SpreadKind::kDraws, SpreadKind::kJitter, SpreadKind::kSeeds}) {
    add_replicates(cells, formula, kind, out);
  }
  return out;
}

}  // namespace quench
