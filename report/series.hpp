// How the observations of one figure fall into panels, colours and dashes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/figure.hpp"

namespace quench {

// Points that belong together: one colour and one dash in one panel, draw 0 and the first seed,
// along the training.
struct Series {
  std::string color;  // what the colour says: "decay", "decay, lawa"
  std::string dash;   // what the dash says: the method; empty for the float model
  std::vector<const Observation*> points;
  // All replicates of a point's cell, the point among them.
  std::vector<std::vector<const Observation*>> replicates;
};

struct SeriesPanel {
  std::string title;
  std::vector<Series> quantized;
  std::vector<Series> floating;  // of the weights in `quantized`
};

// The losses among `observations`, as `spec.lines` and `spec.panels` say; what these leave open
// (the averaging, the method, several models, corpora or jobs) is told apart by itself.
std::vector<SeriesPanel> series_of(const FigureSpec& spec,
                                   const std::vector<Observation>& observations);

// The spread of one point's replicates in the figure's unit; nothing where there are fewer than 2.
// `of` gives an observation's value in that unit, `item_factor` that of one nat per token.
template <typename Value>
std::optional<Spread> point_spread(SpreadKind kind, const Observation& point,
                                   const std::vector<const Observation*>& replicates, Value of,
                                   double item_factor) {
  std::vector<double> values;
  if (kind == SpreadKind::kItems) {
    values = point.item_deltas();
    for (double& value : values) {
      value *= item_factor;
    }
  } else {
    for (const Observation* it : replicates) {
      if ((kind == SpreadKind::kDraws || it->draw == point.draw) &&
          (kind == SpreadKind::kJitter || it->jitter == point.jitter) &&
          (kind == SpreadKind::kSeeds || it->seed == point.seed)) {
        values.push_back(of(*it));
      }
    }
  }
  return values.size() < 2 ? std::nullopt : std::optional(spread_of(kind, values));
}

// What the intervals of a figure show: as the spec says, else draws where any cell has two, else
// items. Nothing when the spec says none.
std::optional<SpreadKind> spread_kind(const FigureSpec& spec,
                                      const std::vector<SeriesPanel>& panels);
// "Bars: 95 % t interval of the mean over 3 calibration draws, ...; they do not cover ...".
std::string spread_caption(std::optional<SpreadKind> kind, size_t n_low, size_t n_high);

// "step400": what a point is, for people.
std::string point_text(const Observation& it);
// Legend entries of what is drawn, in the order of the palette.
std::vector<LegendEntry> legend_of(const std::vector<Panel>& panels,
                                   const std::map<int, std::string>& colors,
                                   const std::map<int, std::string>& dashes);
// A sentence when the values come from more than one kind of machine, else "".
std::string mixed_machines(const std::vector<Observation>& observations);

}  // namespace quench
