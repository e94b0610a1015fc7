// The cells of experiments: which evaluations there are, which are done, and why the others are
// not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/store/fingerprints.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/store.hpp"
#include "run/grid/evaluation_parts.hpp"
#include "run/grid/identity.hpp"

namespace quench {

// One way to quantize one set of weights: float (no quantizer), or a quantizer with one draw of its
// calibration data in one order.
struct Variant {
  std::optional<size_t> quantizer;
  uint32_t draw = 0;
  uint32_t jitter = 0;
  bool operator==(const Variant&) const = default;
};

// Float first, then the quantizers in order, each with its draws and then its jitters.
std::vector<Variant> variants_of(const Experiment& experiment, const WeightsCell& weights);

// Whether a metric applies to this variant: a metric that compares with the float model needs a
// quantizer, and one of a whole trajectory runs once, at the last checkpoint of each branch (on the
// float model, unless it compares).
bool applies(const Experiment& experiment, const WeightsCell& weights, const Variant& variant,
             const MetricCell& metric);

// The checkpoints (indices) that the weights of the grid read. Those of a share are not all.
std::set<size_t> checkpoints_read(const Experiment& experiment);

enum class CellState {
  kDone,    // the run's folder has a valid record
  kReused,  // the store has one, or the run has one under another name
  kToDo,
  kFailed,  // was tried; its record has the error
  kBlocked  // its files are missing
};
const char* to_text(CellState state);  // "to do"

// One evaluation: a metric on one variant of one set of weights.
struct Cell {
  size_t job = 0;  // index of the experiment
  size_t weights = 0;
  Variant variant;
  size_t metric = 0;
  std::string key;  // "" if unknown before more is read
  CellState state = CellState::kToDo;
  std::string reason;
};

// Whether the parts are of the version whose keys counted the host's arithmetic by hand. Such a
// record is shown and explained, and no key of now is its own.
bool is_of_earlier_version(const nlohmann::json& parts);

// "step600, gptq bits=3 draw 2, validation_loss"
std::string cell_name(const Experiment& experiment, const Cell& cell);
// "step600", or "lawa window=5 at step600", after the branch if there are several.
std::string weights_name(const Experiment& experiment, const WeightsCell& weights);

// The same name, taken from a record of the cell.
std::string cell_name(const Record& record);
EvaluationParts parts_of(const Experiment& experiment, const Cell& cell);

// The existing records. One key may have several names in a run: the float model of two points of a
// sweep, a checkpoint on two branches.
class Finished {
 public:
  Finished(const RunRecords& run, const Store& store);

  // Forgets what it knew of the run's folder in favour of this: other processes add to it.
  void renew(const RunRecords& run);

  // The complete values of the cell of this key and name in the run's folder, or nullptr.
  const std::vector<Record>* in_run(const std::string& key, const std::string& name) const;
  // The values under any name in the run's folder, else from the store; empty if there are none.
  std::vector<Record> find(const std::string& key) const;
  // The failed attempt at this key and name, or nullptr.
  const Record* failed(const std::string& key, const std::string& name) const;
  // The parts of the latest record of the cell of this name, under any key, or nullptr: for
  // explanations.
  const nlohmann::json* nearest(const std::string& name) const;

 private:
  using Groups = std::map<std::pair<std::string, std::string>, std::vector<Record>>;  // key, name
  void add(const Record& record, Groups& groups);

  const Store& store_;
  Groups done_;
  Groups superseded_;  // a later attempt has the same cell under another key
  std::map<std::pair<std::string, std::string>, Record> failed_;
  std::map<std::string, nlohmann::json> by_name_;  // name -> parts
};

// Classifies the cell of this key and name.
CellState state_of(const Finished& finished, const std::string& key, const std::string& name,
                   bool retry_failed);

struct SurveyOptions {
  bool fresh = false;         // nothing counts as done
  bool retry_failed = false;  // failed cells are tried again
  bool measure = false;       // reads what is not remembered, weights included
};

// All cells of all experiments in the order in which they run, all pending.
std::vector<Cell> cells_of(const std::vector<Experiment>& experiments);
// What is known about a run before it begins: its records and those of other runs, and the hashes
// of what they depend on.
class RunKnowledge {
 public:
  // Reads the records in the run's folder. The catalog must outlive this. `fresh`: believes no hash
  // of a file that an earlier command remembered.
  RunKnowledge(Catalog& catalog, const HubEnvironment& hub, const std::filesystem::path& home,
               const std::filesystem::path& run, bool fresh = false);

  // The cells of cells_of() with key, state and reason. Reads no weights and no corpora unless it
  // may measure: cells whose files were never read are pending.
  std::vector<Cell> survey(const std::vector<Experiment>& experiments,
                           const SurveyOptions& options = {});
  // What the plugins of these records have read besides.
  void learn_reads(const RunRecords& of);

  const std::string folder;  // of the run, absolute: other runs' records name it
  Store store;
  Fingerprints fingerprints;
  RunRecords records;
  Finished finished;
  Identities identities;
};

}  // namespace quench
