// The cells of experiments: which evaluations there are, which are done, and why the others are
// not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/store.hpp"
#include "run/grid/evaluation_parts.hpp"
#include "run/grid/identity.hpp"

namespace quench {

// One way of quantizing one set of weights: float (no quantizer), or a quantizer with one draw of
// its calibration data in one order.
struct Variant {
  std::optional<size_t> quantizer;
  uint32_t draw = 0;
  uint32_t jitter = 0;
  bool operator==(const Variant&) const = default;
};

// Float first, then the quantizers in order, each with its draws, then its jitters.
std::vector<Variant> variants_of(const Experiment& experiment, const WeightsCell& weights);

// Whether a metric has something to say of this variant: one that compares with the float model
// needs a quantizer, and one of a whole trajectory runs once, at the last checkpoint of each branch
// (float, unless it compares).
bool applies(const Experiment& experiment, const WeightsCell& weights, const Variant& variant,
             const MetricCell& metric);

enum class CellState {
  kDone,    // a valid record is in the run's folder
  kReused,  // the store has one, or the run under another name
  kToDo,
  kFailed,  // was tried; its record holds the error
  kBlocked  // its files are not there
};

// One evaluation: a metric on one variant of one set of weights.
struct Cell {
  size_t job = 0;  // index of the experiment
  size_t weights = 0;
  Variant variant;
  size_t metric = 0;
  std::string key;  // "" when not known without reading more
  CellState state = CellState::kToDo;
  std::string reason;
};

// Whether the parts are of the version whose keys counted the host's arithmetic by hand. Such a
// record is shown and explained, and no key of now is its own.
bool is_of_earlier_version(const nlohmann::json& parts);

// "step600, gptq bits=3 draw 2, validation_loss"
std::string cell_name(const Experiment& experiment, const Cell& cell);
// "step600", or "lawa window=5 at step600", after the branch where there are several.
std::string weights_name(const Experiment& experiment, const WeightsCell& weights);

// The same name, from a record of the cell.
std::string cell_name(const Record& record);
EvaluationParts parts_of(const Experiment& experiment, const Cell& cell);

// The records that are there. One key may stand under several names in a run: the float model of
// two points of a sweep, a checkpoint on two branches.
class Finished {
 public:
  Finished(const RunRecords& run, const Store& store);

  // The complete values of the cell of this key and name in the run's folder, or nullptr.
  const std::vector<Record>* in_run(const std::string& key, const std::string& name) const;
  // The values under any name in the run's folder, else from the store; empty without.
  std::vector<Record> find(const std::string& key) const;
  // The failed attempt of this key and name, or nullptr.
  const Record* failed(const std::string& key, const std::string& name) const;
  // The parts of the latest record of the cell of this name, whatever its key, or nullptr: for
  // explanations.
  const nlohmann::json* nearest(const std::string& name) const;

 private:
  using Groups = std::map<std::pair<std::string, std::string>, std::vector<Record>>;  // key, name
  void add(const Record& record, Groups& groups);

  const Store& store_;
  Groups done_;
  Groups superseded_;  // a later attempt has the same cell under another key
  std::map<std::pair<std::string, std::string>, Record> failed_;
  std::map<std::string, nlohmann::json> by_name_;  // to parts
};

// Whether the cell of this key and name needs work.
CellState state_of(const Finished& finished, const std::string& key, const std::string& name,
                   bool retry_failed);

struct SurveyOptions {
  bool fresh = false;         // nothing counts as done
  bool retry_failed = false;  // failed cells are to do
};

// All cells of all experiments in the order in which they run, all of them to do.
std::vector<Cell> cells_of(const std::vector<Experiment>& experiments);
// The same with key, state and reason. Reads no weights and no corpora:
// cells of files that were never read are to do.
std::vector<Cell> survey(const std::vector<Experiment>& experiments, Identities& identities,
                         const Finished& finished, const SurveyOptions& options);

}  // namespace quench
