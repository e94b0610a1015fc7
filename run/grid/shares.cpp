#include "run/grid/shares.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "run/grid/estimate.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/described_model.hpp"
#include "train/recipe.hpp"

namespace quench {

namespace {

// Costs in thousands of tokens of a forward, where the manifest does not tell.
constexpr uint64_t kTokens = 1000;
constexpr uint64_t kOpened = 1;  // to read and hash one checkpoint, or to go over all weights once
constexpr uint64_t kScored = 100;  // the part of a corpus that a metric scores
// Of calibration, against a forward: the Gram matrices come on top (estimate.cpp: 1.2 to 2).
constexpr uint64_t kCalibratedNumerator = 8;
constexpr uint64_t kCalibratedDenominator = 5;
constexpr uint64_t kTrained = 3;  // a forward, and a backward that costs two
constexpr uint64_t kMillion = 1000000;
constexpr uint64_t kUnknownSize = 100;  // millions of parameters

uint64_t thousands(uint64_t tokens) {
  return std::max<uint64_t>(1, tokens / kTokens);
}

bool reads_data(const MetricCell& metric) {
  const auto& schemas = metric.plugin->parameters;
  return !metric.corpora.empty() ||
         std::any_of(schemas.begin(), schemas.end(), [](const ParameterSchema& schema) {
           return schema.type == QUENCH_PARAMETER_PATH;
         });
}

uint64_t quantizer_cost(const QuantizerCell& cell) {
  if (!cell.calibration) {
    return kOpened;
  }
  const uint64_t tokens = calibration_tokens(*cell.calibration);
  return tokens == 0 ? kScored : thousands(tokens * kCalibratedNumerator / kCalibratedDenominator);
}

// Finds which experiments train a checkpoint in common.
class CommonTrainings {
 public:
  explicit CommonTrainings(const std::vector<Experiment>& experiments)
      : parent_(experiments.size()) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    std::map<std::string, size_t> first;
    for (size_t i = 0; i < experiments.size(); ++i) {
      for (const CheckpointCell& cell : experiments[i].checkpoints) {
        if (experiments[i].training != nullptr) {
          join(first.emplace(cell.location, i).first->second, i);
        }
      }
    }
  }

  // The first experiment of its group.
  size_t first_of(size_t experiment) const {
    while (parent_[experiment] != experiment) {
      experiment = parent_[experiment];
    }
    return experiment;
  }

 private:
  void join(size_t a, size_t b) {
    a = first_of(a);
    b = first_of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  std::vector<size_t> parent_;
};

class Costs {
 public:
  Costs(Catalog& catalog, const HubEnvironment& hub) : catalog_(catalog), hub_(hub) {}

  // One set of weights with its cells.
  void add(const Experiment& experiment, const WeightsCell& weights, ShareUnit& unit) {
    uint64_t cost = kOpened * std::max<size_t>(1, weights.members.size());
    for (const Variant& variant : variants_of(experiment, weights)) {
      uint64_t cells = 0;
      for (const MetricCell& metric : experiment.metrics) {
        if (applies(experiment, weights, variant, metric)) {
          ++cells;
          cost += reads_data(metric) ? kScored : kOpened;
        }
      }
      cost += variant.quantizer && cells > 0
                  ? quantizer_cost(experiment.quantizers[*variant.quantizer])
                  : 0;
      unit.cells += cells;
    }
    unit.cost += cost * size_of(experiment);
  }

  // The checkpoints that the experiment trains and no unit before had.
  void add_training(const Experiment& experiment, ShareUnit& unit) {
    std::string branch;
    int64_t before = 0;
    for (const CheckpointCell& cell : experiment.checkpoints) {
      if (cell.branch != branch) {
        branch = cell.branch;
        before = begin_of(experiment, branch);
      }
      const int64_t step = cell.step.value_or(before);
      if (trained_.emplace(cell.location, true).second && step > before) {
        unit.cost += thousands(static_cast<uint64_t>(step - before) *
                               experiment.training->recipe.tokens_per_step()) *
                     kTrained * size_of(experiment);
      }
      before = step;
    }
  }

 private:
  static int64_t begin_of(const Experiment& experiment, const std::string& name) {
    for (const Branch& branch : experiment.branches) {
      if (branch.name == name && branch.fork) {
        return experiment.checkpoints[*branch.fork].step.value_or(0);
      }
    }
    return 0;
  }

  // Millions of parameters; known of a model that is trained, whose config is in the manifest.
  uint64_t size_of(const Experiment& experiment) {
    if (experiment.training == nullptr) {
      return kUnknownSize;
    }
    const TrainingRecipe& recipe = experiment.training->recipe;
    const auto [found, fresh] = sizes_.try_emplace({recipe.family->id, recipe.config});
    if (fresh) {
      const DescribedModels described = describe_models(catalog_, experiment, hub_);
      const uint64_t parameters =
          described.models.empty() ? 0 : parameter_count(described.models.front().model);
      found->second = parameters == 0 ? kUnknownSize : std::max<uint64_t>(1, parameters / kMillion);
    }
    return found->second;
  }

  Catalog& catalog_;
  const HubEnvironment& hub_;
  std::map<std::pair<std::string, std::string>, uint64_t> sizes_;  // by family and config
  std::map<std::string, bool> trained_;                            // by location
};

std::string id_of(const Shares& shares, const std::vector<Experiment>& experiments) {
  Sha256 hash;
  for (size_t i = 0; i < shares.units.size(); ++i) {
    for (const auto& [at, row] : shares.units[i].weights) {
      const Experiment& experiment = experiments[at];
      const std::string line = fmt::format("{} {} {} of {}\n", experiment.job,
                                           weights_name(experiment, experiment.weights[row]),
                                           shares.share_of[i], shares.count);
      hash.update(line.data(), line.size());
    }
  }
  return hash.hex_digest().substr(0, 8);
}

}  // namespace

Share parse_share(const std::string& text) {
  const std::string_view all(text);
  const size_t slash = std::min(all.find('/'), all.size());
  const auto number = parse_number<uint64_t>(all.substr(0, slash));
  const auto of = parse_number<uint64_t>(all.substr(std::min(slash + 1, all.size())));
  if (!number || !of || *number < 1 || *number > *of || *of > kMostShares) {
    fail(QUENCH_INVALID_ARGUMENT,
         "--share: got '{}', wanted I/N, share I of N with I from 1 to N and N up to {}, such as "
         "2/3",
         printable(text, 40), kMostShares);
  }
  return {*number, *of};
}

std::vector<ShareUnit> share_units(Catalog& catalog, const std::vector<Experiment>& experiments,
                                   const HubEnvironment& hub) {
  const CommonTrainings common(experiments);
  Costs costs(catalog, hub);
  std::vector<ShareUnit> units;
  std::map<size_t, size_t> of_training;  // by first experiment: the unit
  for (size_t i = 0; i < experiments.size(); ++i) {
    const Experiment& experiment = experiments[i];
    std::optional<size_t> at;
    if (experiment.training != nullptr) {
      const auto [found, fresh] = of_training.emplace(common.first_of(i), units.size());
      if (fresh) {
        units.push_back({{}, 0, 0, true});
      }
      at = found->second;
      costs.add_training(experiment, units[*at]);
    }
    for (size_t row = 0; row < experiment.weights.size(); ++row) {
      ShareUnit& unit = at ? units[*at] : units.emplace_back();
      unit.weights.emplace_back(i, row);
      costs.add(experiment, experiment.weights[row], unit);
    }
  }
  return units;
}

std::vector<uint64_t> split(std::span<const uint64_t> costs, uint64_t shares) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  // Load, units and number of each share: the least first. Units that cost nothing go round.
  using Load = std::tuple<uint64_t, uint64_t, uint64_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (uint64_t share = 0; share < shares; ++share) {
    loads.emplace(0, 0, share);
  }
  std::vector<uint64_t> out(costs.size());
  for (const size_t unit : order) {
    const auto [load, units, share] = loads.top();
    loads.pop();
    out[unit] = share;
    loads.emplace(load + costs[unit], units + 1, share);
  }
  return out;
}

Shares make_shares(Catalog& catalog, const std::vector<Experiment>& experiments,
                   const HubEnvironment& hub, uint64_t count) {
  Shares out{count, share_units(catalog, experiments, hub), {}, ""};
  std::vector<uint64_t> costs;
  costs.reserve(out.units.size());
  for (const ShareUnit& unit : out.units) {
    costs.push_back(unit.cost);
  }
  out.share_of = split(costs, count);
  out.id = id_of(out, experiments);
  return out;
}

std::map<std::pair<size_t, size_t>, uint64_t> share_of_weights(const Shares& shares) {
  std::map<std::pair<size_t, size_t>, uint64_t> out;
  for (size_t i = 0; i < shares.units.size(); ++i) {
    for (const auto& weights : shares.units[i].weights) {
      out[weights] = shares.share_of[i];
    }
  }
  return out;
}

std::vector<Experiment> experiments_of(const Shares& shares, uint64_t number,
                                       const std::vector<Experiment>& experiments) {
  std::map<size_t, std::vector<WeightsCell>> rows;  // by experiment
  for (const auto& [weights, share] : share_of_weights(shares)) {
    if (share + 1 == number) {
      rows[weights.first].push_back(experiments[weights.first].weights[weights.second]);
    }
  }
  std::vector<Experiment> out;
  for (auto& [at, of_experiment] : rows) {
    Experiment& part = out.emplace_back(experiments[at]);
    part.weights = std::move(of_experiment);
    part.is_share = part.weights.size() < experiments[at].weights.size();
  }
  return out;
}

}  // namespace quench
