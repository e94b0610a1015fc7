#include "run/grid/grid.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/difference.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

std::vector<Variant> variants_of(const Experiment& experiment, const WeightsCell& weights) {
  std::vector<Variant> out = {{}};
  for (size_t q = 0; q < experiment.quantizers.size(); ++q) {
    const Replicates& replicates = experiment.quantizers[q].replicates;
    const bool here = replicates.at.empty() || std::find(replicates.at.begin(), replicates.at.end(),
                                                         weights.checkpoint) != replicates.at.end();
    for (uint32_t draw = 0; draw < (here ? replicates.draws : 1); ++draw) {
      out.push_back({q, draw, 0});
    }
    for (uint32_t jitter = 1; jitter <= (here ? replicates.jitter : 0); ++jitter) {
      out.push_back({q, 0, jitter});
    }
  }
  return out;
}

bool applies(const Experiment& experiment, const WeightsCell& weights, const Variant& variant,
             const MetricCell& metric) {
  const bool compares = (metric.needs & QUENCH_METRIC_NEEDS_FLOAT) != 0;
  if (compares && !variant.quantizer) {
    return false;
  }
  if (variant.quantizer ? !metric.scope.of_quantized : !metric.scope.of_float) {
    return false;
  }
  if ((metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0) {
    return true;
  }
  const size_t next = weights.checkpoint + 1;
  const bool last =
      next == experiment.checkpoints.size() ||
      experiment.checkpoints[next].branch != experiment.checkpoints[weights.checkpoint].branch;
  return last && !weights.averaging && (compares || !variant.quantizer);
}

std::set<size_t> checkpoints_read(const Experiment& experiment) {
  std::set<size_t> out;
  for (const WeightsCell& weights : experiment.weights) {
    out.insert(weights.members.begin(), weights.members.end());
    if (weights.members.empty()) {
      out.insert(weights.checkpoint);
    }
    for (const MetricCell& metric : experiment.metrics) {
      if ((metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0) {
        continue;
      }
      for (const Variant& variant : variants_of(experiment, weights)) {
        if (applies(experiment, weights, variant, metric)) {
          const std::vector<size_t> branch = branch_until(experiment, weights.checkpoint);
          out.insert(branch.begin(), branch.end());
        }
      }
    }
  }
  return out;
}

namespace {

std::string place_name(const std::string& branch, const std::string& revision,
                       const std::string& model) {
  const std::string& name = revision.empty() ? model : revision;
  return branch.empty() ? name : branch + "/" + name;
}

std::string replicate_name(uint64_t draw, uint64_t jitter) {
  std::string out;
  if (draw > 0) {
    out += fmt::format(" draw {}", draw);
  }
  if (jitter > 0) {
    out += fmt::format(" jitter {}", jitter);
  }
  return out;
}

// Names all points of a sweep but the first.
std::string job_name(uint64_t job) {
  return job == 0 ? "" : fmt::format("job {}: ", job);
}

uint64_t number_or_zero(const nlohmann::json& value) {
  return value.is_number_unsigned() || value.is_number_integer() ? value.get<uint64_t>() : 0;
}

std::string text_or_empty(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// What a part of a key is called where not its path says most: "the build of gptq",
// "libtorch_cpu.so".
std::string part_in_words(const std::string& path, const nlohmann::json& parts) {
  constexpr std::string_view kCode = ".code.";
  constexpr std::string_view kLibraries = "environment.libraries.";
  if (path == "host.build_id") {
    return "the host's arithmetic";
  }
  if (path.starts_with(kLibraries)) {
    return path.substr(kLibraries.size());
  }
  const size_t code = path.find(kCode);
  if (code == std::string::npos) {
    return path;
  }
  const nlohmann::json* plugin = &parts;
  for (size_t from = 0; from < code && plugin != nullptr;) {
    const size_t end = std::min(path.find('.', from), code);
    const auto found = plugin->find(path.substr(from, end - from));
    plugin = found != plugin->end() && found->is_object() ? &*found : nullptr;
    from = end + 1;
  }
  return plugin != nullptr && plugin->contains("id")
             ? "the build of " + text_or_empty(*plugin, "id")
             : path;
}

// A record of another cell of the same name: "weights, the build of gptq changed".
std::string what_changed(const nlohmann::json& was, const nlohmann::json& is) {
  if (is_of_earlier_version(was)) {
    return "measured by an earlier version, whose keys say less";
  }
  std::vector<std::string> names;
  for (const Difference& difference : explain_difference(was, is)) {
    const std::string name = part_in_words(difference.path, is);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return fmt::format("{} changed", fmt::join(names, ", "));
}

}  // namespace

bool is_of_earlier_version(const nlohmann::json& parts) {
  const auto host = parts.find("host");
  return host == parts.end() || !host->is_object();
}

std::string weights_name(const Experiment& experiment, const WeightsCell& weights) {
  const CheckpointCell& cell = experiment.checkpoints[weights.checkpoint];
  const std::string place = place_name(cell.branch, cell.revision, cell.model);
  return weights.averaging ? experiment.averagings[*weights.averaging].label + " at " + place
                           : place;
}

std::string cell_name(const Experiment& experiment, const Cell& cell) {
  const Variant& variant = cell.variant;
  return fmt::format("{}{}, {}{}, {}", job_name(experiment.job),
                     weights_name(experiment, experiment.weights[cell.weights]),
                     variant.quantizer ? experiment.quantizers[*variant.quantizer].label : "float",
                     replicate_name(variant.draw, variant.jitter),
                     experiment.metrics[cell.metric].label);
}

std::string cell_name(const Record& record) {
  const nlohmann::json& checkpoint = record.checkpoint;
  std::string place =
      place_name(text_or_empty(checkpoint, "branch"), text_or_empty(checkpoint, "revision"),
                 text_or_empty(checkpoint, "model"));
  if (record.averaging.is_object()) {
    place = text_or_empty(record.averaging, "label") + " at " + place;
  }
  return fmt::format(
      "{}{}, {}{}, {}", job_name(record.job), place,
      record.quantizer.is_object() ? text_or_empty(record.quantizer, "label") : "float",
      replicate_name(number_or_zero(record.draw), number_or_zero(record.jitter)), record.label);
}

Finished::Finished(const RunRecords& run, const Store& store) : store_(store) {
  renew(run);
}

void Finished::renew(const RunRecords& run) {
  done_.clear();
  superseded_.clear();
  failed_.clear();
  by_name_.clear();
  for (const Record& record : run.superseded) {
    add(record, superseded_);
  }
  for (const Record& record : run.records) {
    add(record, done_);
  }
}

void Finished::add(const Record& record, Groups& groups) {
  const std::string name = cell_name(record);
  if (record.key.empty() || !record.error.empty()) {
    failed_.insert_or_assign(std::pair(record.key, name), record);
    return;
  }
  std::vector<Record>& group = groups[{record.key, name}];
  if (group.size() < record.count && group.size() == record.index) {
    group.push_back(record);
  }
  if (record.parts.contains("metric")) {
    by_name_[name] = record.parts;
  }
}

const std::vector<Record>* Finished::in_run(const std::string& key, const std::string& name) const {
  const auto found = done_.find({key, name});
  return found != done_.end() ? &found->second : nullptr;
}

std::vector<Record> Finished::find(const std::string& key) const {
  for (const Groups* groups : {&done_, &superseded_}) {
    const auto any = groups->lower_bound({key, ""});
    if (any != groups->end() && any->first.first == key) {
      return any->second;
    }
  }
  return store_.find(key).value_or(std::vector<Record>());
}

const Record* Finished::failed(const std::string& key, const std::string& name) const {
  const auto found = failed_.find({key, name});
  return found != failed_.end() ? &found->second : nullptr;
}

const nlohmann::json* Finished::nearest(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() ? &found->second : nullptr;
}

CellState state_of(const Finished& finished, const std::string& key, const std::string& name,
                   bool retry_failed) {
  if (finished.in_run(key, name) != nullptr) {
    return CellState::kDone;
  }
  if (finished.failed(key, name) != nullptr && !retry_failed) {
    return CellState::kFailed;
  }
  return finished.find(key).empty() ? CellState::kToDo : CellState::kReused;
}

namespace {

// Why the cell has no tokens, if the hub's cache lacks its tokenizer or a corpus; else
// empty.
std::string absence_of(const Experiment& experiment, const Cell& cell) {
  if (experiment.training != nullptr && !experiment.absent.empty()) {
    return experiment.absent.begin()->second;  // training is impossible
  }
  const CheckpointCell& checkpoint =
      experiment.checkpoints[experiment.weights[cell.weights].checkpoint];
  const std::string& tokenizer = tokenizer_named(experiment, checkpoint);
  if (const auto found = experiment.absent.find(tokenizer); found != experiment.absent.end()) {
    return found->second;
  }
  for (const auto& [parameter, use] : experiment.metrics[cell.metric].corpora) {
    if (std::string reason = absence_of(experiment, use); !reason.empty()) {
      return reason;
    }
  }
  const QuantizerCell* quantizer =
      cell.variant.quantizer ? &experiment.quantizers[*cell.variant.quantizer] : nullptr;
  return quantizer != nullptr && quantizer->calibration
             ? absence_of(experiment, quantizer->calibration->corpus)
             : "";
}

class Surveyor {
 public:
  Surveyor(Identities& identities, const Finished& finished, const SurveyOptions& options)
      : identities_(identities), finished_(finished), options_(options) {}

  void classify(const Experiment& experiment, Cell& cell) {
    if (const std::string absence = absence_of(experiment, cell); !absence.empty()) {
      cell.state = CellState::kBlocked;
      cell.reason = absence;
      return;
    }
    std::string missing;
    const auto parts = known_parts(experiment, cell, missing);
    if (!parts) {
      cell.reason = missing;
      block_if_absent(experiment, experiment.weights[cell.weights], cell);
      return;
    }
    cell.key = content_key(*parts);
    if (options_.fresh) {
      cell.reason = "--fresh";
      block_if_evicted(experiment, experiment.weights[cell.weights], cell);
      return;
    }
    const std::string name = cell_name(experiment, cell);
    cell.state = state_of(finished_, cell.key, name, options_.retry_failed);
    if (cell.state == CellState::kFailed) {
      cell.reason = finished_.failed(cell.key, name)->error;
    } else if (cell.state == CellState::kReused) {
      cell.reason = "measured before";
    } else if (cell.state == CellState::kToDo) {
      const nlohmann::json* near = finished_.nearest(name);
      cell.reason = near != nullptr ? what_changed(*near, *parts) : "new";
      block_if_evicted(experiment, experiment.weights[cell.weights], cell);
    }
  }

 private:
  std::optional<nlohmann::json> known_parts(const Experiment& experiment, const Cell& cell,
                                            std::string& missing) {
    try {
      return evaluation_parts(identities_, parts_of(experiment, cell), options_.measure, missing);
    } catch (const Error& error) {
      missing = error.what();
      return std::nullopt;
    }
  }

  // The key is known without the weights, but the value is not.
  void block_if_evicted(const Experiment& experiment, const WeightsCell& weights, Cell& cell) {
    for (const CheckpointCell* file : files_of(experiment, weights)) {
      if (std::string absence = identities_.absence_of_known(*file); !absence.empty()) {
        cell.state = CellState::kBlocked;
        cell.reason = std::move(absence);
        return;
      }
    }
  }

  void block_if_absent(const Experiment& experiment, const WeightsCell& weights, Cell& cell) const {
    for (const CheckpointCell* file : files_of(experiment, weights)) {
      const std::string absence = identities_.absence(*file);
      if (!absence.empty() && experiment.training != nullptr) {
        cell.reason = "not trained yet";
        return;
      }
      if (!absence.empty()) {
        cell.state = CellState::kBlocked;
        cell.reason = absence;
        return;
      }
    }
  }

  Identities& identities_;
  const Finished& finished_;
  const SurveyOptions& options_;
};

}  // namespace

EvaluationParts parts_of(const Experiment& experiment, const Cell& cell) {
  const Variant& variant = cell.variant;
  return {&experiment,
          &experiment.weights[cell.weights],
          variant.quantizer ? &experiment.quantizers[*variant.quantizer] : nullptr,
          variant.draw,
          variant.jitter,
          &experiment.metrics[cell.metric]};
}

std::vector<Cell> cells_of(const std::vector<Experiment>& experiments) {
  std::vector<Cell> cells;
  for (size_t job = 0; job < experiments.size(); ++job) {
    const Experiment& experiment = experiments[job];
    for (size_t w = 0; w < experiment.weights.size(); ++w) {
      for (const Variant& variant : variants_of(experiment, experiment.weights[w])) {
        for (size_t m = 0; m < experiment.metrics.size(); ++m) {
          if (applies(experiment, experiment.weights[w], variant, experiment.metrics[m])) {
            cells.push_back({job, w, variant, m, "", CellState::kToDo, ""});
          }
        }
      }
    }
  }
  return cells;
}

const char* to_text(CellState state) {
  switch (state) {
    case CellState::kDone:
      return "done";
    case CellState::kReused:
      return "reused";
    case CellState::kToDo:
      return "to do";
    case CellState::kFailed:
      return "failed";
    case CellState::kBlocked:
      return "blocked";
  }
  return "";
}

RunKnowledge::RunKnowledge(Catalog& catalog, const HubEnvironment& hub,
                           const std::filesystem::path& home, const std::filesystem::path& run,
                           bool fresh)
    : folder(std::filesystem::absolute(run).lexically_normal().string()),
      store(home,
            [](const std::string& line) {
              HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
            }),
      fingerprints(home, fresh),
      records(read_run(run)),
      finished(records, store),
      identities(catalog, fingerprints, hub) {
  learn_reads(records);
}

std::vector<Cell> RunKnowledge::survey(const std::vector<Experiment>& experiments,
                                       const SurveyOptions& options) {
  std::vector<Cell> cells = cells_of(experiments);
  Surveyor surveyor(identities, finished, options);
  for (Cell& cell : cells) {
    surveyor.classify(experiments[cell.job], cell);
  }
  return cells;
}

void RunKnowledge::learn_reads(const RunRecords& of) {
  for (const Record& record : of.records) {
    identities.reads().learn(record.parts);
  }
}

}  // namespace quench
