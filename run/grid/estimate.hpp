// What cells will cost, from what cells did cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"
#include "run/manifest/metric_memory.hpp"

namespace quench {

// Where a time comes from, best first.
enum class Basis {
  kMeasured,  // the same work on a model of about this size
  kScaled,    // the same plugin on other work, by its floating-point operations
  kNominal    // nothing was ever measured: kNominalRate
};
inline constexpr double kNominalRate = 25e9;  // floating-point operations a second and thread

struct Cost {
  double flops = 0;    // 2 per parameter and token of a forward, and the Gram matrices
  uint64_t bytes = 0;  // of weights to read
  // Peak: the model, a float copy of what is quantized, what a metric says, the libraries.
  uint64_t memory = 0;
  double seconds = 0;
  Basis basis = Basis::kMeasured;
};

// Rates of this machine, one small file for all runs. Estimates are all that depends on it, so the
// last writer wins and a damaged file counts as none.
class Rates {
 public:
  explicit Rates(const std::filesystem::path& home);

  // One piece of work that took `seconds`: what it was (any JSON that tells equal work apart),
  // which plugin did it, parameters of the model, tokens through it.
  void observe(const nlohmann::json& work, const std::string& plugin, uint64_t parameters,
               uint64_t tokens, double seconds);
  // Takes what records say of themselves. `identities` knows the sizes of models.
  void observe(const std::vector<Record>& records, const std::map<std::string, uint64_t>& sizes);

  struct Known {
    double seconds_per_parameter = 0;
    uint64_t tokens = 0;
  };
  const Known* find(const nlohmann::json& work) const;
  // Floating-point operations a second of a plugin, 0 where it never ran.
  double rate_of(const std::string& plugin) const;
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, Known> known_;   // by hash of the work
  std::map<std::string, double> rates_;  // by plugin
};

// The work of quantizing and of measuring, as Rates tells it apart: the parts of the key that do
// not name the weights.
nlohmann::json metric_work(const nlohmann::json& parts);
nlohmann::json quantizer_work(const nlohmann::json& parts);

// Cost of the cells to do, summed; quantizing and reading the weights are counted once for all
// metrics that share them.
struct PlanCost {
  std::vector<Cost> cells;  // in the order of the cells; of the first of those that share work
  Cost total;
};
// `memory`: by experiment, or none.
PlanCost estimate(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                  Identities& identities, const Rates& rates, uint32_t threads,
                  const std::vector<MetricMemory>& memory = {});

}  // namespace quench
