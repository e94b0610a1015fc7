// Divides the observations of one figure into panels, colours and dashes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/figure.hpp"
#include "report/item_sample.hpp"

namespace quench {

// Points that belong together: one colour and one dash in one panel, draw 0, along the training.
struct Series {
  std::string color;  // meaning of the colour: "decay", "decay, lawa"
  std::string dash;   // meaning of the dash: the method; empty for the float model
  std::vector<const Observation*> points;  // of the first seed
  // For each point all replicates of its cell, including the point itself.
  std::vector<std::vector<const Observation*>> replicates;
};

struct SeriesPanel {
  std::string title;
  std::vector<Series> quantized;
  std::vector<Series> floating;  // of the weights in `quantized`
};

// Groups the losses among `observations` by `spec.lines` and `spec.panels`, and separates
// automatically what these leave open (averaging, method, several models, corpora or jobs).
std::vector<SeriesPanel> series_of(const FigureSpec& spec,
                                   const std::vector<Observation>& observations);

// The spread of one point's replicates in the figure's unit; nothing for fewer than 2. `of` returns
// an observation's value in that unit, `item_factor` that of one nat per token.
template <typename Value>
std::optional<Spread> point_spread(SpreadKind kind, const Observation& point,
                                   const std::vector<const Observation*>& replicates, Value of,
                                   double item_factor) {
  if (kind == SpreadKind::kItems) {
    const std::optional<Spread> spread = delta_spread(point);
    return spread ? std::optional(scaled(*spread, item_factor)) : std::nullopt;
  }
  std::vector<double> values;
  for (const Observation* it : replicates) {
    if ((kind == SpreadKind::kDraws || it->draw == point.draw) &&
        (kind == SpreadKind::kJitter || it->jitter == point.jitter) &&
        (kind == SpreadKind::kSeeds || it->seed == point.seed)) {
      values.push_back(of(*it));
    }
  }
  return values.size() < 2 ? std::nullopt : std::optional(spread_of(kind, values));
}

// What the intervals of a figure show: the spec's choice, else draws if any cell has two, else
// items. Nothing if the spec says none.
std::optional<SpreadKind> spread_kind(const FigureSpec& spec,
                                      const std::vector<SeriesPanel>& panels);
// "Bars: 95 % t interval of the mean over 3 calibration draws, ...; they do not cover ...".
std::string spread_caption(std::optional<SpreadKind> kind, size_t n_low, size_t n_high);

// The same branch by branch: a line never runs from one into another.
std::vector<Series> by_branch(const std::vector<Series>& all);
// Where a branch leaves its parent: the parent's last point at or before the first one of `fork`,
// of the same method and colour's other meanings; index into `all` (of by_branch) and of the point.
std::optional<std::pair<size_t, size_t>> fork_of(const Series& fork,
                                                 const std::vector<Series>& all);

// Where a line runs: the mean of draw 0 over the seeds. `replicates` are those of a point of a
// series, the point among them.
double seed_mean(const std::vector<const Observation*>& replicates,
                 const std::function<double(const Observation&)>& of);
// "Each point is the mean over 3 seeds.", or "" where there is one.
std::string seeds_caption(const std::vector<SeriesPanel>& panels);

// For people: "step400", the name of a point.
std::string point_text(const Observation& it);
// Legend entries for what is drawn, in the order of the palette.
std::vector<LegendEntry> legend_of(const std::vector<Panel>& panels,
                                   const std::map<int, std::string>& colors,
                                   const std::map<int, std::string>& dashes);
// A sentence if the values come from more than one kind of machine, else "".
std::string mixed_machines(const std::vector<Observation>& observations);

}  // namespace quench
