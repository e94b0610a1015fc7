#include "run/weights_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/json/canonical_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/inputs/weights/float_source.hpp"
#include "core/pass/journal.hpp"
#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/grid/describe_cell.hpp"
#include "run/interrupted.hpp"

namespace quench {

namespace {

// Offers the journal of one evaluation to plugins while the object lives.
class JournalOfCell {
 public:
  // `key`: the cell's; without a key or a folder, keeps no journal.
  JournalOfCell(const RunnerOptions& options, const std::string& key) {
    if (options.home.empty() || key.empty()) {
      return;
    }
    journal_.emplace(options.home / "partial", key);
    if (options.fresh) {
      journal_->forget();
    }
    HostServices::instance().set_journal(&*journal_);
  }
  ~JournalOfCell() { HostServices::instance().set_journal(nullptr); }
  JournalOfCell(const JournalOfCell&) = delete;
  JournalOfCell& operator=(const JournalOfCell&) = delete;

  // The evaluation is finished: drops its journal.
  void forget() {
    if (journal_) {
      journal_->forget();
    }
  }

 private:
  std::optional<Journal> journal_;
};

// Values from a plugin may not fit a record. That fails the cell; written to a file, it would end
// the run.
void check_form(const std::vector<Record>& values) {
  for (const Record& value : values) {
    canonical_json(to_json(value));
  }
}

// Adds to this run's description of a plugin what only the run that measured the value knows.
void take_measured(const nlohmann::json& from, nlohmann::json& to) {
  if (!from.is_object() || !to.is_object()) {
    return;
  }
  to.erase("process");
  for (const char* name : {"bits_per_weight", "process"}) {
    if (from.contains(name)) {
      to[name] = from[name];
    }
  }
  if (from.contains("transform") && to.contains("transform")) {
    take_measured(from["transform"], to["transform"]);
  }
}

}  // namespace

void WeightsRun::measure(std::span<MeasuredCell> cells, const VariantModel& variant) {
  for (MeasuredCell& cell : cells) {
    if (!cell.records.empty()) {
      continue;
    }
    try {
      cell.records = measure(cell, variant);
    } catch (...) {
      const Error error = current_error();
      run_.throw_if_final(error);
      cell.records = keep_failure(cell, variant.quantizer, error);
    }
  }
}

std::vector<Record> WeightsRun::measure(const MeasuredCell& cell, const VariantModel& variant) {
  const MetricCell& metric = experiment_.metrics[cell.cell.metric];
  const CellsAtWork at_work({&cell.cell.key, cell.cell.key.empty() ? size_t{0} : size_t{1}});
  JournalOfCell journal(run_.options, cell.cell.key);
  std::optional<ModelHandle> own;
  if (metric.dtype && !same_dtype(*metric.dtype, experiment_.dtype)) {
    own.emplace(in_dtype(*metric.dtype, variant));
  }
  std::vector<Record> values = evaluate_metric(
      run_.metrics, run_.corpora, metric, own ? *own : open_->model, *tokenizer_,
      further_weights(metric, variant), is_fused(cell) && !own ? &scores_ : nullptr);
  try {
    run_.history.check_read(metric, run_.metrics.wanted(metric, run_.corpora.hub()));
  } catch (...) {
    journal.forget();  // its pieces are not of this key
    throw;
  }
  check_running_code();
  const MeasuredCell read = run_.history.with_reads(experiment_, cell);
  for (Record& value : values) {
    describe(value, read, variant.quantizer);
  }
  values.front().details.update(variant.details);
  if (read.unchecked) {
    values.front().details[kInputsDetail] = kUncheckedInputs;
  }
  check_form(values);
  values = run_.keep(std::move(values));
  journal.forget();
  return values;
}

std::vector<MetricWeights> WeightsRun::further_weights(const MetricCell& metric,
                                                       const VariantModel& variant) {
  std::vector<MetricWeights> out;
  if ((metric.needs & QUENCH_METRIC_NEEDS_FLOAT) != 0 && variant.kept != nullptr) {
    if (variant.kept->has_ops()) {
      fail(QUENCH_UNSUPPORTED,
           "metric {}: compares weights, and the quantizer replaces linears by operations of its "
           "own or changes keys and values",
           metric.plugin->id);
    }
    out.push_back({"float", checkpoint_.branch, checkpoint_.step, checkpoint_.tokens,
                   std::make_shared<FloatSource>(open_->model, *variant.kept)});
  }
  if ((metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0) {
    for (const size_t place : branch_until(experiment_, weights_.checkpoint)) {
      const CheckpointCell& cell = experiment_.checkpoints[place];
      out.push_back({cell.revision.empty() ? cell.model : cell.revision, cell.branch, cell.step,
                     cell.tokens, run_.history.open(run_.catalog, cell).source});
    }
  }
  return out;
}

ModelHandle WeightsRun::in_dtype(quench_dtype dtype, const VariantModel& variant) {
  if (variant.kept != nullptr && variant.kept->has_ops()) {
    fail(QUENCH_UNSUPPORTED, "a metric in a dtype of its own, and the quantizer replaces linears");
  }
  const FloatWeights nothing(open_->model);
  // Unchanged ones are read from the files, without the rounding to this run's own dtype.
  std::shared_ptr<const TensorSource> source = open_->folder.source;
  if (variant.kept != nullptr || weights_.averaging) {
    source = std::make_shared<FloatSource>(open_->model, nothing);
  }
  return open_model(run_.catalog, source, open_->folder.config_json,
                    (open_->folder.path / "config.json").string(), checkpoint_.family, dtype,
                    experiment_.device);
}

bool WeightsRun::is_fused(const MeasuredCell& cell) const {
  return experiment_.metrics[cell.cell.metric].scope.fused &&
         std::any_of(cells_.begin(), cells_.end(), [&](const MeasuredCell& each) {
           return each.cell.metric == cell.cell.metric && each.cell.variant.quantizer &&
                  each.to_do();
         });
}

void WeightsRun::describe(Record& record, const MeasuredCell& cell,
                          const nlohmann::json& quantizer) const {
  quench::describe({run_.catalog, experiment_, cell.cell, cell.parts, quantizer, commit_, family_,
                    stored_, warnings_},
                   record);
}

void WeightsRun::name_as_here(Record& record, const MeasuredCell& cell) const {
  const auto part = [&](const char* name, const std::string& member) {
    const auto found = record.details.find(name);
    return found != record.details.end() && found->contains(member) ? &(*found)[member] : nullptr;
  };
  const MetricCell& metric = experiment_.metrics[cell.cell.metric];
  for (const auto& [parameter, use] : metric.corpora) {
    if (nlohmann::json* corpus = part("corpora", parameter)) {
      (*corpus)["name"] = use.name;
    }
    if (nlohmann::json* given = part("params", parameter)) {
      *given = metric.parameters.at(parameter);
    }
  }
  if (nlohmann::json* calibration = part("calibration", "name")) {
    const auto& quantizer = cell.cell.variant.quantizer;
    if (quantizer && experiment_.quantizers[*quantizer].calibration) {
      *calibration = experiment_.quantizers[*quantizer].calibration->name;
    }
  }
}

std::vector<Record> WeightsRun::records_there(MeasuredCell& cell) {
  std::vector<Record> records = run_.history.records_of(experiment_, cell.cell);
  if (cell.cell.state != CellState::kReused) {
    return records;
  }
  for (Record& record : records) {
    nlohmann::json quantizer = describe_quantizer(run_.catalog, experiment_, cell.cell.variant);
    take_measured(record.quantizer, quantizer);
    const nlohmann::json averaging = std::exchange(record.averaging, nullptr);
    // The machine that measured it stays; this run sets the point of the sweep.
    nlohmann::json environment = std::exchange(record.environment, nlohmann::json::object());
    const nlohmann::json checkpoint = std::exchange(record.checkpoint, nullptr);
    describe(record, cell, quantizer);
    take_measured(averaging, record.averaging);
    if (stored_.is_null() && checkpoint.is_object() && checkpoint.contains("stored")) {
      record.checkpoint["stored"] = checkpoint["stored"];  // the weights are not here any more
    }
    if (checkpoint.is_object() && checkpoint.contains("warnings")) {
      record.checkpoint["warnings"] = checkpoint["warnings"];  // nothing was opened now
    }
    if (environment.is_object()) {
      environment.erase("sweep");
      if (record.environment.contains("sweep")) {
        environment["sweep"] = record.environment["sweep"];
      }
    }
    record.environment = std::move(environment);
    name_as_here(record, cell);
  }
  return run_.keep(std::move(records));
}

std::vector<Record> WeightsRun::keep_failure(const MeasuredCell& cell,
                                             const nlohmann::json& quantizer, const Error& error) {
  Record record;
  record.metric = experiment_.metrics[cell.cell.metric].plugin->id;
  describe(record, cell, quantizer);
  record.error = printable(error.what(), kMaxRecordText);
  if (error.code() == QUENCH_UNAVAILABLE) {  // no fault of this cell: the next run measures it
    HostServices::instance().log(
        QUENCH_LOG_ERROR, "",
        fmt::format("{} was not measured and is not recorded as failed: {}",
                    weights_name(experiment_, weights_), record.error));
    record.details[kInterruptedDetail] = true;
    return {record};
  }
  return run_.keep({record});
}

}  // namespace quench
