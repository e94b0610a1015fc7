#include "report/series.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "report/dimension.hpp"
#include "report/point_names.hpp"

namespace quench {

namespace {

constexpr size_t kMostNames = 3;  // of marked checkpoints in a legend

bool has(const std::vector<std::string>& list, const char* name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The label of a swept quantizer without its bits: "gptq bits=3 damp=0.1" becomes "gptq damp=0.1".
std::string without_bits(const std::string& label) {
  const std::string key = " bits=";
  const size_t at = label.find(key);
  return at == std::string::npos
             ? label
             : label.substr(0, at) + label.substr(std::min(label.size(), label.find(' ', at + 1)));
}

// What differs within the figure and must therefore be named.
class Naming {
 public:
  Naming(const FigureSpec& spec, const std::vector<const Observation*>& losses) : spec_(spec) {
    std::set<nlohmann::json> models, metrics, points;
    std::map<nlohmann::json, std::set<std::string>> labels;  // panel, weights, id → labels
    for (const Observation* it : losses) {
      models.insert(dimension_value(*it->record, "model"));
      metrics.insert(nlohmann::json::array({dimension_value(*it->record, "metric"), it->text}));
      points.insert(sweep_point(*it->record, said_of_sweep()));
      if (!it->is_float()) {
        const nlohmann::json id = dimension_value(*it->record, "quantizer");
        auto& known = labels[{panel_key(*it), it->weights, id, sweep_point(*it->record)}];
        known.insert(value_text(dimension_value(*it->record, "label")));
        if (known.size() > 1) {
          ambiguous_ids_.insert(id);
        }
      }
    }
    several_models_ = models.size() > 1;
    several_metrics_ = metrics.size() > 1;
    points_ = point_names(points);
  }

  nlohmann::json panel_key(const Observation& it) const {
    nlohmann::json key = nlohmann::json::array();
    for (const std::string& name : spec_.panels) {
      key.push_back(dimension_value(*it.record, name));
    }
    return key;
  }
  nlohmann::json metric_key(const Observation& it) const {
    return several_metrics_
               ? nlohmann::json::array({dimension_value(*it.record, "metric"), it.text})
               : nlohmann::json();
  }
  std::string panel_title(const Observation& it) const {
    std::vector<std::string> words;
    for (const std::string& name : spec_.panels) {
      words.push_back(dimension_text(name, dimension_value(*it.record, name)));
    }
    if (several_metrics_) {
      words.push_back(value_text(dimension_value(*it.record, "metric")));
    }
    if (!it.text.empty()) {
      words.push_back(it.text);
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }
  std::string color(const Observation& it) const {
    std::vector<std::string> words;
    for (const std::string& name : spec_.lines) {
      const nlohmann::json value = dimension_value(*it.record, name);
      if (!value.is_null()) {
        words.push_back(name == "branch" ? value_text(value) : dimension_text(name, value));
      }
    }
    const auto add = [&](const char* name, bool wanted) {
      const nlohmann::json value = dimension_value(*it.record, name);
      if (wanted && !has(spec_.lines, name) && !value.is_null()) {
        words.push_back(value_text(value));
      }
    };
    add("model", several_models_);
    if (points_.size() > 1) {
      const std::string& point = points_.at(sweep_point(*it.record, said_of_sweep()));
      if (!point.empty()) {
        words.push_back(point);
      }
    }
    add("averaging", true);
    return words.empty() ? "checkpoints" : fmt::format("{}", fmt::join(words, ", "));
  }
  std::string dash(const Observation& it) const {
    if (it.is_float() || has(spec_.lines, "label")) {
      return "";
    }
    const nlohmann::json id = dimension_value(*it.record, "quantizer");
    if (ambiguous_ids_.count(id) > 0) {
      const std::string label = value_text(dimension_value(*it.record, "label"));
      return spec_.kind == FigureKind::kLossVsBytes ? without_bits(label) : label;
    }
    return has(spec_.lines, "quantizer") ? "" : value_text(id);
  }

 private:
  // The dimensions of the sweep by which lines and panels are separated.
  std::vector<std::string> said_of_sweep() const {
    std::vector<std::string> out = spec_.lines;
    out.insert(out.end(), spec_.panels.begin(), spec_.panels.end());
    return out;
  }

  const FigureSpec& spec_;
  bool several_models_ = false;
  bool several_metrics_ = false;
  std::map<nlohmann::json, std::string> points_;  // of the sweep, and what they are called
  std::set<nlohmann::json> ambiguous_ids_;
};

Series& series_in(std::vector<Series>& list, const std::string& color, const std::string& dash) {
  for (Series& series : list) {
    if (series.color == color && series.dash == dash) {
      return series;
    }
  }
  list.push_back({color, dash, {}, {}});
  return list.back();
}

// Makes one point per cell, along the training.
void make_points(Series& series, std::vector<const Observation*> members) {
  std::stable_sort(members.begin(), members.end(), [](const auto* x, const auto* y) {
    return std::tuple(x->position, x->draw, x->jitter, x->seed) <
           std::tuple(y->position, y->draw, y->jitter, y->seed);
  });
  std::map<std::string, size_t> points;
  for (const Observation* it : members) {
    const auto [found, is_new] = points.emplace(it->cell, series.points.size());
    if (is_new) {
      if (!it->is_base()) {
        points.erase(found);  // draw 0 failed: there is no point for the line
        continue;
      }
      series.points.push_back(it);
      series.replicates.emplace_back();
    }
    series.replicates[found->second].push_back(it);
  }
}

struct Bucket {
  std::string title;
  std::map<std::pair<std::string, std::string>, std::vector<const Observation*>> quantized;
  std::map<std::pair<std::string, std::string>, std::vector<const Observation*>> floating;
  std::vector<std::pair<std::string, std::string>> order;
  std::vector<std::pair<std::string, std::string>> float_order;
};

}  // namespace

std::vector<SeriesPanel> series_of(const FigureSpec& spec,
                                   const std::vector<Observation>& observations) {
  std::vector<const Observation*> losses;
  for (const Observation& it : observations) {
    if (is_loss(*it.record) && (it.is_float() || it.floating != nullptr)) {
      losses.push_back(&it);
    }
  }
  const Naming naming(spec, losses);
  std::map<nlohmann::json, Bucket> buckets;  // sorted by value: 3 bits before 4
  for (const Observation* it : losses) {
    if (it->is_float()) {
      continue;
    }
    // Without array(), two keys that begin with a text would become members of an object.
    Bucket& bucket =
        buckets[nlohmann::json::array({naming.panel_key(*it), naming.metric_key(*it)})];
    bucket.title = naming.panel_title(*it);
    const auto key = std::pair(naming.color(*it), naming.dash(*it));
    auto& members = bucket.quantized[key];
    if (members.empty()) {
      bucket.order.push_back(key);
    }
    members.push_back(it);
  }
  for (const Observation* it : losses) {
    for (auto& [panel, bucket] : buckets) {
      if (!it->is_float() || panel[1] != naming.metric_key(*it)) {
        continue;
      }
      const auto key = std::pair(naming.color(*it), std::string());
      auto& members = bucket.floating[key];
      if (members.empty()) {
        bucket.float_order.push_back(key);
      }
      members.push_back(it);
    }
  }
  std::vector<SeriesPanel> out;
  for (auto& [panel, bucket] : buckets) {
    SeriesPanel made;
    made.title = bucket.title;
    for (const auto& key : bucket.order) {
      make_points(series_in(made.quantized, key.first, key.second), bucket.quantized[key]);
    }
    for (const auto& key : bucket.float_order) {
      make_points(series_in(made.floating, key.first, key.second), bucket.floating[key]);
    }
    out.push_back(std::move(made));
  }
  return out;
}

std::optional<SpreadKind> spread_kind(const FigureSpec& spec,
                                      const std::vector<SeriesPanel>& panels) {
  if (spec.no_spread || spec.spread) {
    return spec.no_spread ? std::nullopt : spec.spread;
  }
  bool has_draws = false;
  for (const SeriesPanel& panel : panels) {
    for (const Series& series : panel.quantized) {
      for (const auto& replicates : series.replicates) {
        for (const Observation* it : replicates) {
          if (it->seed != replicates.front()->seed) {
            return SpreadKind::kSeeds;
          }
          has_draws = has_draws || it->draw > 0;
        }
      }
    }
  }
  return has_draws ? SpreadKind::kDraws : SpreadKind::kItems;
}

std::string spread_caption(std::optional<SpreadKind> kind, size_t n_low, size_t n_high) {
  if (!kind) {
    return "No bars are drawn.";
  }
  if (n_high < 2) {
    return fmt::format("No bars: no cell has two {} to take a spread over.",
                       *kind == SpreadKind::kItems ? "validation items" : spread_name(*kind));
  }
  const std::string over = spread_text(*kind, n_high);
  std::string out = fmt::format(
      "Bars: 95 % t interval of the mean over {}{}{}. They do not cover {}.",
      n_low == n_high ? "" : fmt::format("{} to ", n_low), over,
      *kind == SpreadKind::kItems   ? ", paired with the float model's"
      : *kind == SpreadKind::kDraws ? ", where there are any; the tick is the mean, the line draw 0"
      : *kind == SpreadKind::kJitter ? ", where there are any; the tick is the mean, the line the "
                                       "rows as they come"
                                     : "; tick and line are their mean",
      spread_omits(*kind));
  if (*kind == SpreadKind::kDraws || *kind == SpreadKind::kJitter) {
    out += " Methods without calibration data have no such bars.";
  }
  return out;
}

std::vector<Series> by_branch(const std::vector<Series>& all) {
  std::vector<Series> out;
  for (const Series& series : all) {
    std::map<nlohmann::json, size_t> places;  // branch → index into `out`
    for (size_t i = 0; i < series.points.size(); ++i) {
      const nlohmann::json branch = dimension_value(*series.points[i]->record, "branch");
      const auto [found, is_new] = places.emplace(branch, out.size());
      if (is_new) {
        out.push_back({series.color, series.dash, {}, {}});
      }
      out[found->second].points.push_back(series.points[i]);
      out[found->second].replicates.push_back(series.replicates[i]);
    }
  }
  return out;
}

std::optional<std::pair<size_t, size_t>> fork_of(const Series& fork,
                                                 const std::vector<Series>& all) {
  const Record& first = *fork.points.front()->record;
  const nlohmann::json parent = first.checkpoint.is_object()
                                    ? first.checkpoint.value("parent", nlohmann::json())
                                    : nlohmann::json();
  const char* axis = dimension_value(first, "step").is_number() ? "step" : "tokens";
  const nlohmann::json begin = dimension_value(first, axis);
  if (!parent.is_string() || !begin.is_number() || !first.averaging.is_null()) {
    return std::nullopt;
  }
  std::optional<std::pair<size_t, size_t>> out;
  double latest = -1;
  for (size_t s = 0; s < all.size(); ++s) {
    const Record& other = *all[s].points.front()->record;
    const bool fits = all[s].dash == fork.dash && dimension_value(other, "branch") == parent &&
                      other.averaging.is_null() && sweep_point(other) == sweep_point(first) &&
                      dimension_value(other, "model") == dimension_value(first, "model") &&
                      dimension_value(other, "label") == dimension_value(first, "label");
    for (size_t i = 0; fits && i < all[s].points.size(); ++i) {
      const nlohmann::json place = dimension_value(*all[s].points[i]->record, axis);
      if (place.is_number() && place <= begin && place.get<double>() > latest) {
        latest = place.get<double>();
        out = {s, i};
      }
    }
  }
  return out;
}

double seed_mean(const std::vector<const Observation*>& replicates,
                 const std::function<double(const Observation&)>& of) {
  double sum = 0;
  size_t seeds = 0;
  for (const Observation* it : replicates) {
    if (it->is_base()) {
      sum += of(*it);
      ++seeds;
    }
  }
  return sum / static_cast<double>(seeds);
}

std::string seeds_caption(const std::vector<SeriesPanel>& panels) {
  size_t least = SIZE_MAX;
  size_t most = 0;
  for (const SeriesPanel& panel : panels) {
    for (const Series& series : panel.quantized) {
      for (const auto& replicates : series.replicates) {
        const auto count =
            static_cast<size_t>(std::count_if(replicates.begin(), replicates.end(),
                                              [](const Observation* it) { return it->is_base(); }));
        least = std::min(least, count);
        most = std::max(most, count);
      }
    }
  }
  return most < 2 ? ""
                  : fmt::format(" Each point is the mean over {}{} seeds.",
                                least == most ? "" : fmt::format("{} to ", least), most);
}

std::string point_text(const Observation& it) {
  return value_text(dimension_value(*it.record, "checkpoint"));
}

std::vector<LegendEntry> legend_of(const std::vector<Panel>& panels,
                                   const std::map<int, std::string>& colors,
                                   const std::map<int, std::string>& dashes) {
  std::set<Trace::Kind> kinds;
  std::map<std::string, std::set<std::string>> marks;  // mark → checkpoints
  for (const Panel& panel : panels) {
    for (const Trace& trace : panel.traces) {
      kinds.insert(trace.kind);
      for (size_t i = 0; i < trace.marks.size(); ++i) {
        if (!trace.marks[i].empty()) {
          marks[trace.marks[i]].insert(trace.texts[i]);
        }
      }
    }
  }
  std::vector<LegendEntry> out;
  const bool has_methods = std::any_of(dashes.begin(), dashes.end(),
                                       [](const auto& dash) { return !dash.second.empty(); });
  for (const auto& [index, text] : colors) {
    out.push_back({LegendEntry::Kind::kColor, index, text, "", has_methods ? -1 : index});
  }
  for (const auto& [index, text] : dashes) {
    if (!text.empty()) {
      out.push_back({LegendEntry::Kind::kDash, index, text, "", index});
    }
  }
  if (kinds.count(Trace::Kind::kFloat) > 0) {
    out.push_back({LegendEntry::Kind::kFloat, 0, "float model", "", -1});
  }
  if (kinds.count(Trace::Kind::kRight) > 0) {
    const auto with_right = std::find_if(panels.begin(), panels.end(), [](const Panel& panel) {
      return !panel.right_title.empty();
    });
    out.push_back(
        {LegendEntry::Kind::kRight, 0, with_right->right_title + " (right axis)", "", -1});
  }
  for (const auto& [mark, checkpoints] : marks) {
    const std::string text = mark == "last" ? "last checkpoint of a line"
                             : checkpoints.size() > kMostNames
                                 ? fmt::format("marked {}", mark)
                                 : fmt::format("{}", fmt::join(checkpoints, ", "));
    out.push_back({LegendEntry::Kind::kMark, 0, text, mark, -1});
  }
  return out;
}

void drop_empty_panels(Figure& figure) {
  for (Panel& panel : figure.panels) {
    std::erase_if(panel.traces, [](const Trace& trace) { return trace.x.empty(); });
  }
  std::erase_if(figure.panels, [](const Panel& panel) {
    return std::all_of(panel.traces.begin(), panel.traces.end(), [](const Trace& trace) {
      return trace.kind == Trace::Kind::kGuide || trace.kind == Trace::Kind::kStrip ||
             trace.kind == Trace::Kind::kRight;
    });
  });
}

std::string mixed_machines(const std::vector<Observation>& observations) {
  std::set<std::string> machines;
  for (const Observation& it : observations) {
    const nlohmann::json& environment = it.record->environment;
    std::vector<std::string> words;
    for (const char* key : {"device", "isa"}) {
      if (environment.is_object() && environment.contains(key) && !environment[key].is_null()) {
        words.push_back(value_text(environment[key]));
      }
    }
    machines.insert(fmt::format("{}", fmt::join(words, " ")));
  }
  return machines.size() < 2 ? ""
                             : fmt::format(" Values come from different kinds of machines: {}.",
                                           fmt::join(machines, "; "));
}

}  // namespace quench
