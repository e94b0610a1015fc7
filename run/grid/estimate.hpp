// Predicts the cost of cells from the measured cost of earlier cells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"
#include "run/grid/peak_memory.hpp"

namespace quench {

// Where a predicted time comes from, best first.
enum class Basis {
  kMeasured,  // the same work on a model of about this size
  kScaled,    // the same plugin on other work, scaled by floating-point operations
  kNominal    // nothing was measured yet: kNominalRate
};
const char* to_text(Basis basis);
inline constexpr double kNominalRate = 25e9;  // floating-point operations per second and thread

// What no number of operations tells: until the plugins are loaded and a model is open, and of each
// cell that was never measured.
inline constexpr double kStartSeconds = 1;
inline constexpr double kCellSeconds = 0.1;

inline constexpr double kForwardFlops = 2;  // per parameter and token
// Gram matrices (upper triangles) of a transformer's input groups, per parameter and token: 1.6 for
// four square groups and a fourfold MLP, 0.9 for a gated one.
inline constexpr double kGramFlops = 1.2;
// Ids of a text that is not here; the study's held-out text has about as many.
inline constexpr uint64_t kTokensOfUnknownText = 600'000;

// Ids that a quantizer observes unless they were counted: documents of 512, and, where pads
// count, as many as the longest of each batch has (of lengths whose logarithms are normal with a
// deviation of 1, as those of web pages nearly are).
uint64_t calibration_tokens(const Calibration& calibration);
// Peak without what metrics predict: the model, a float copy of what is quantized, the libraries.
uint64_t model_memory(uint64_t parameters, uint64_t element_bytes, bool quantized);

struct Cost {
  double flops = 0;    // 2 per parameter and token of a forward, plus the Gram matrices
  uint64_t bytes = 0;  // of weights to read
  // Peak of host memory: the model, a float copy of what is quantized, what a metric or the pass
  // predicts, the libraries.
  uint64_t memory = 0;
  // Peak on the GPU, without what CUDA holds of its own; 0 where there is none or nothing was
  // predicted: with the whole model there, and with its blocks in turns.
  uint64_t device = 0;
  uint64_t device_by_block = 0;
  double seconds = 0;
  Basis basis = Basis::kMeasured;
};

// Rates of this machine, in one small file for all runs. Only estimates depend on it, so the last
// writer wins and a damaged file counts as missing.
class Rates {
 public:
  explicit Rates(const std::filesystem::path& home);

  // Adds one measurement: what was done (any JSON that identifies equal work), by which plugin, for
  // how many parameters and tokens, in `seconds`.
  void observe(const nlohmann::json& work, const std::string& plugin, uint64_t parameters,
               uint64_t tokens, double seconds);
  // Adds the measurements in records. `sizes` gives the sizes of models.
  void observe(const std::vector<Record>& records, const std::map<std::string, uint64_t>& sizes);

  struct Known {
    double seconds_per_parameter = 0;
    uint64_t tokens = 0;
  };
  const Known* find(const nlohmann::json& work) const;
  // Floating-point operations per second of a plugin; 0 if it never ran.
  double rate_of(const std::string& plugin) const;
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, Known> known_;   // by hash of the work
  std::map<std::string, double> rates_;  // by plugin
};

// Cost of the cells to do, summed. Counts quantizing and reading the weights once for all metrics
// that share them.
struct PlanCost {
  std::vector<Cost> cells;  // in the order of the cells; the first cell has shared work
  Cost total;
};
// `memory` and `peaks`: per experiment, or empty; peaks[i] may be empty, too.
PlanCost estimate(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                  Identities& identities, const Rates& rates, uint32_t threads,
                  const std::vector<MetricMemory>& memory = {},
                  const std::vector<std::vector<PassPeak>>& peaks = {});

}  // namespace quench
