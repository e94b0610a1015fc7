#include "run/weights_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/grid/describe_cell.hpp"

namespace quench {

namespace {

bool to_compute(std::span<const MeasuredCell> cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const MeasuredCell& each) { return each.records.empty(); });
}

// The calibration sample of a variant with a quantizer.
CalibrationDraw draw_of(const Experiment& experiment, const Variant& variant) {
  return {variant.draw, experiment.quantizers[*variant.quantizer].replicates.draws, variant.jitter,
          experiment.seed};
}

}  // namespace

WeightsRun::WeightsRun(RunState& run, Job& job, size_t at)
    : run_(run),
      job_(job),
      experiment_(job.experiment),
      at_(at),
      weights_(experiment_.weights[at]),
      checkpoint_(files_cell(experiment_, weights_)) {
  for (const Cell& cell : job.cells[at]) {
    cells_.push_back({cell});
  }
  std::filesystem::path path;
  try {
    const LocatedCheckpoint files = locate_checkpoint(checkpoint_, run.options.hub);
    commit_ = files.commit;
    path = files.path;
  } catch (...) {
    // every cell will report it
  }
  try {
    stored_ = stored_quantization(run.catalog, path);
  } catch (...) {
    stored_ = nullptr;  // likewise, if a cell needs the weights
  }
}

std::vector<Record> WeightsRun::run(const Error* untrained) {
  if (untrained != nullptr) {
    fail_cells(*untrained, [](const MeasuredCell&) { return true; });
  } else {
    identify();
  }
  find_exports();
  if (needs_open_model()) {
    open();
  }
  job_.quantization.expect(quantizations_to_do());
  for (const std::span<MeasuredCell> same : by_variant(cells_)) {
    if (open_ && !open_->model.is_alive()) {  // its process has ended in the variant before
      open_.reset();
      open();
    }
    run_variant(same);
    run_.done += same.size();
  }
  job_.quantization.expect({});
  write_averages();
  std::vector<Record> records;
  for (MeasuredCell& each : cells_) {
    std::move(each.records.begin(), each.records.end(), std::back_inserter(records));
  }
  return records;
}

template <typename Which>
void WeightsRun::fail_cells(const Error& error, Which which) {
  for (MeasuredCell& each : cells_) {
    if (!each.fault && which(each)) {
      each.fault = error;
    }
  }
}

void WeightsRun::identify() {
  for (MeasuredCell& each : cells_) {
    try {
      run_.history.identify(experiment_, each);
    } catch (...) {
      const Error error = current_error();
      run_.throw_if_final(error);
      each.fault = error;
    }
  }
}

void WeightsRun::find_exports() {
  for (const RowFolder& row : row_folders(experiment_, run_.options.places)) {
    if (row.weights != at_) {
      continue;
    }
    try {
      if (auto pending = run_.history.pending(experiment_, row)) {
        exports_.push_back(std::move(*pending));
      }
    } catch (...) {
      const Error error = current_error();
      run_.throw_if_final(error);
      tell_unwritten(row, error);
    }
  }
}

bool WeightsRun::needs_open_model() const {
  return std::any_of(exports_.begin(), exports_.end(),
                     [](const PendingExport& each) { return each.needs_model; }) ||
         std::any_of(cells_.begin(), cells_.end(),
                     [](const MeasuredCell& each) { return each.to_do() && !each.fault; });
}

void WeightsRun::open() {
  const std::vector<std::string> keys = keys_to_do(cells_);
  const CellsAtWork at_work(keys);
  try {
    // The keys were known without the weights. A run that fetches them measures the cells.
    if (const std::string absence = run_.history.absence(files_of(experiment_, weights_));
        !absence.empty()) {
      fail(QUENCH_UNAVAILABLE, "{}", absence);
    }
    const auto files = [this](const CheckpointCell& cell) {
      return run_.history.open(run_.catalog, cell);
    };
    open_.emplace(open_weights(run_.catalog, experiment_, weights_, files,
                               [this](ModelHandle& model, const CheckpointFolder& folder) {
                                 return score(model, folder);
                               }));
    look_at_open_model();
  } catch (...) {
    not_open_ = current_error();
    run_.throw_if_final(*not_open_);
    open_.reset();
    fail_cells(*not_open_, [](const MeasuredCell& each) { return each.to_do(); });
  }
}

void WeightsRun::look_at_open_model() {
  family_ = open_->model.id();
  warnings_ = open_->warnings;
  tokenizer_.emplace(tokenizer_of(open_->folder));
  check_calibrations();
  check_rules();
}

void WeightsRun::check_calibrations() {
  if (!run_.options.fail_fast && !run_.options.fail_without_values) {
    return;
  }
  for (const QuantizerCell& cell : experiment_.quantizers) {
    if (cell.calibration) {
      job_.quantization.rows(cell, {0, cell.replicates.draws, 0, experiment_.seed}, open_->model,
                             *tokenizer_);
    }
  }
}

void WeightsRun::check_rules() {
  for (size_t q = 0; q < experiment_.quantizers.size(); ++q) {
    const QuantizerCell& quantizer = experiment_.quantizers[q];
    if (!may_have_rules(quantizer)) {
      continue;
    }
    if (!job_.modules) {
      job_.modules = known_modules(describe_models(run_.catalog, experiment_, run_.options.hub));
    }
    if (job_.modules->complete) {
      return;
    }
    add_names(open_->model, job_.modules->names);
    try {
      require_modules(job_.quantizers.of(quantizer), quantizer.parameters, job_.modules->names);
    } catch (...) {
      const Error error = current_error();
      run_.throw_if_final(error);
      fail_cells(error, [q](const MeasuredCell& each) { return each.cell.variant.quantizer == q; });
    }
  }
}

TokenizerChoice WeightsRun::tokenizer_of(const CheckpointFolder& folder) const {
  TokenizerChoice out = choose_tokenizer(run_.catalog, experiment_, checkpoint_, folder);
  if (auto keyed = run_.history.tokenizer(experiment_, checkpoint_)) {
    out.set_identity(*std::move(keyed));
  }
  return out;
}

double WeightsRun::score(ModelHandle& model, const CheckpointFolder& folder) {
  TokenizerChoice tokenizer = tokenizer_of(folder);
  const MetricCell& criterion = experiment_.metrics.front();
  const std::vector<Record> scored =
      evaluate_metric(run_.metrics, run_.corpora, criterion, model, tokenizer);
  run_.history.check_read(criterion, run_.metrics.wanted(criterion, run_.corpora.hub()));
  return lower_is_better(scored.front());
}

std::vector<Quantization> WeightsRun::quantizations_to_do() {
  std::vector<Quantization> out;
  for (const std::span<MeasuredCell> same : by_variant(cells_)) {
    const Variant& variant = same.front().cell.variant;
    if (variant.quantizer && (any_to_do(same) || export_of(variant) != nullptr) &&
        !all_failed(same)) {
      out.push_back({&experiment_.quantizers[*variant.quantizer], draw_of(experiment_, variant),
                     keys_to_do(same)});
    }
  }
  return out;
}

void WeightsRun::run_variant(std::span<MeasuredCell> cells) {
  scores_.set_answers({});  // the answers belong to another variant
  take_records(cells);
  const Variant& variant = cells.front().cell.variant;
  const PendingExport* folder = open_ && !all_failed(cells) ? export_of(variant) : nullptr;
  if (!to_compute(cells) && folder == nullptr) {
    return;
  }
  const std::vector<std::string> keys = keys_to_do(cells);
  const CellsAtWork at_work(keys);
  if (variant.quantizer) {
    run_quantized(cells, folder);
  } else {
    measure(cells, {nullptr, nullptr, size_details({})});
  }
}

void WeightsRun::take_records(std::span<MeasuredCell> cells) {
  for (MeasuredCell& each : cells) {
    each.records =
        each.fault
            ? keep_failure(each, describe_quantizer(run_.catalog, experiment_, each.cell.variant),
                           *each.fault)
            : records_there(each);
  }
}

void WeightsRun::run_quantized(std::span<MeasuredCell> cells, const PendingExport* folder) {
  const Variant& variant = cells.front().cell.variant;
  run_.say(weights_name(experiment_, weights_) + ", " +
           experiment_.quantizers[*variant.quantizer].label);
  nlohmann::json quantizer = describe_quantizer(run_.catalog, experiment_, variant);
  FloatWeights kept(open_->model);
  try {
    quantize_and_measure(cells, folder, kept, quantizer);
  } catch (...) {
    const Error error = current_error();
    kept.restore();
    run_.throw_if_final(error);
    if (folder != nullptr) {
      tell_unwritten(folder->row, error);
    }
    for (MeasuredCell& each : cells) {
      if (each.records.empty()) {
        each.records = keep_failure(each, quantizer, error);
      }
    }
    return;
  }
  kept.restore();
}

void WeightsRun::quantize_and_measure(std::span<MeasuredCell> cells, const PendingExport* folder,
                                      FloatWeights& kept, nlohmann::json& quantizer) {
  const Variant& variant = cells.front().cell.variant;
  const QuantizerCell& setting = experiment_.quantizers[*variant.quantizer];
  QuantizedModel result = job_.quantization.apply(
      setting, draw_of(experiment_, variant), open_->model, *tokenizer_, kept,
      to_compute(cells) ? requests(cells) : std::span<const ScoreRequest>());
  check_running_code();
  scores_.set_answers(std::move(result.answers));
  quantizer["bits_per_weight"] = result.bits_per_weight;
  result.details.update(size_details({result.quantized_weights, result.bits_per_weight}));
  if (folder != nullptr) {
    write(*folder, [&] {
      write_export(run_.catalog, *open_, *result.stored, *folder, experiment_.tokenizer);
    });
  }
  measure(cells, {&kept, quantizer, std::move(result.details)});
}

std::span<const ScoreRequest> WeightsRun::requests(std::span<const MeasuredCell> cells) const {
  if (scores_.requests().empty() &&
      std::any_of(cells.begin(), cells.end(),
                  [&](const MeasuredCell& each) { return is_fused(each); })) {
    HostServices::instance().log(QUENCH_LOG_INFO, "",
                                 "fused scoring begins with the next quantizer: nothing has been "
                                 "scored on these weights in this run yet");
  }
  return scores_.requests();
}

nlohmann::json WeightsRun::size_details(const QuantizedShare& quantized) const {
  return stored_.is_null() && std::isfinite(quantized.bits)
             ? nlohmann::json{{"stored_bytes", stored_bytes(*open_, quantized)}}
             : nlohmann::json::object();
}

const PendingExport* WeightsRun::export_of(const Variant& variant) const {
  const auto found = std::find_if(exports_.begin(), exports_.end(), [&](const PendingExport& each) {
    return each.row.variant == variant && variant.quantizer;
  });
  return found != exports_.end() ? &*found : nullptr;
}

void WeightsRun::write_averages() {
  for (const PendingExport& folder : exports_) {
    if (folder.needs_model && not_open_) {
      tell_unwritten(folder.row, *not_open_);
    } else if (!folder.row.variant.quantizer) {
      write(folder, [&] {
        write_average(run_.catalog, experiment_, folder,
                      open_ ? open_->found : std::vector<double>(), run_.options.manifest,
                      run_.options.hub);
      });
    }
  }
}

template <typename Body>
void WeightsRun::write(const PendingExport& folder, Body body) {
  try {
    body();
  } catch (...) {
    const Error error = current_error();
    run_.throw_if_final(error);
    tell_unwritten(folder.row, error);
  }
}

void WeightsRun::tell_unwritten(const RowFolder& row, const Error& error) {
  run_.status.tell_unwritten(fmt::format(
      "{} is not written: {}", printable(folder_row_name(experiment_, row), 4096), error.what()));
}

}  // namespace quench
