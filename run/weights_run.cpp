#include "run/weights_run.hpp"

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "core/pass/evaluate.hpp"
#include "core/plugin/at_work.hpp"
#include "core/plugin/plugin_call.hpp"
#include "run/variant_run.hpp"

namespace quench {

WeightsRun::WeightsRun(const Job& job, size_t at, const std::vector<Cell>& cells,
                       QuantizeCell& quantization, OpenModelRules& rules)
    : job_(job),
      quantization_(quantization),
      rules_(rules),
      weights_(job, job.experiment.weights[at], cells),
      folders_(job),
      at_(at) {}

std::vector<Record> WeightsRun::run(const Error* untrained) {
  if (untrained != nullptr) {
    weights_.fail_cells(*untrained, [](const MeasuredCell&) { return true; });
  } else {
    identify();
  }
  folders_.find(at_);
  if (needs_open_model()) {
    open();
  }
  quantization_.expect(quantizations_to_do());
  VariantRun variant(weights_, open_, folders_, quantization_);
  for (const std::span<MeasuredCell> same : by_variant(weights_.cells)) {
    if (open_ && !open_->model.is_alive()) {  // its process has ended in the variant before
      open_.reset();
      open();
    }
    variant.run(same);
    job_.run.progress.advance(same.size());
  }
  quantization_.expect({});
  folders_.write_averages(open_, not_open_);
  std::vector<Record> records;
  for (MeasuredCell& each : weights_.cells) {
    std::move(each.records.begin(), each.records.end(), std::back_inserter(records));
  }
  return records;
}

void WeightsRun::identify() {
  for (MeasuredCell& each : weights_.cells) {
    try {
      each.parts = job_.run.history.identify(job_.experiment, each.cell);
      job_.run.history.check_death(each.cell);
    } catch (...) {
      const Error error = current_error();
      job_.run.keeper.throw_if_final(error);
      each.fault = error;
    }
  }
}

bool WeightsRun::needs_open_model() const {
  return folders_.need_model() ||
         std::any_of(weights_.cells.begin(), weights_.cells.end(),
                     [](const MeasuredCell& each) { return each.to_do() && !each.fault; });
}

void WeightsRun::open() {
  const std::vector<std::string> keys = keys_to_do(weights_.cells);
  const CellsAtWork at_work(keys);
  try {
    // The keys were known without the weights. Who fetches them measures the cells then.
    if (const std::string absence =
            job_.run.history.absence(files_of(job_.experiment, weights_.weights));
        !absence.empty()) {
      fail(QUENCH_UNAVAILABLE, "{}", absence);
    }
    open_.emplace(open_weights(job_.run.catalog, job_.experiment, weights_.weights,
                               job_.run.options.hub,
                               [this](ModelHandle& model, const CheckpointFolder& folder) {
                                 return score(model, folder);
                               }));
    look_at_open_model();
  } catch (...) {
    not_open_ = current_error();
    job_.run.keeper.throw_if_final(*not_open_);
    open_.reset();
    weights_.fail_cells(*not_open_, [](const MeasuredCell& each) { return each.to_do(); });
  }
}

void WeightsRun::look_at_open_model() {
  // What was opened must be what was hashed.
  job_.run.history.check_unchanged(files_of(job_.experiment, weights_.weights));
  weights_.family = open_->model.id();
  weights_.tokenizer.emplace(tokenizer_of(open_->folder));
  check_calibrations();
  check_rules();
}

void WeightsRun::check_calibrations() {
  if (!job_.run.options.fail_fast && !job_.run.options.fail_without_values) {
    return;
  }
  for (const QuantizerCell& cell : job_.experiment.quantizers) {
    if (cell.calibration) {
      quantization_.rows(cell, {0, cell.replicates.draws, 0, job_.experiment.seed}, open_->model,
                         *weights_.tokenizer);
    }
  }
}

void WeightsRun::check_rules() {
  for (const auto& [quantizer, error] : rules_.faults(open_->model)) {
    job_.run.keeper.throw_if_final(error);
    weights_.fail_cells(error, [at = quantizer](const MeasuredCell& each) {
      return each.cell.variant.quantizer == at;
    });
  }
}

TokenizerChoice WeightsRun::tokenizer_of(const CheckpointFolder& folder) const {
  TokenizerChoice out =
      choose_tokenizer(job_.run.catalog, job_.experiment, weights_.checkpoint(), folder);
  if (auto keyed = job_.run.history.tokenizer(job_.experiment, weights_.checkpoint())) {
    out.set_identity(*std::move(keyed));
  }
  return out;
}

double WeightsRun::score(ModelHandle& model, const CheckpointFolder& folder) {
  TokenizerChoice tokenizer = tokenizer_of(folder);
  const MetricCell& criterion = job_.experiment.metrics.front();
  const std::vector<Record> scored =
      evaluate_metric(job_.run.metrics, job_.run.corpora, criterion, model, tokenizer);
  job_.run.history.check_read(criterion,
                              job_.run.metrics.wanted(criterion, job_.run.corpora.hub()));
  return lower_is_better(scored.front());
}

std::vector<Quantization> WeightsRun::quantizations_to_do() {
  std::vector<Quantization> out;
  for (const std::span<MeasuredCell> same : by_variant(weights_.cells)) {
    const Variant& variant = same.front().cell.variant;
    if (variant.quantizer && (any_to_do(same) || folders_.of(variant) != nullptr) &&
        !hopeless(same)) {
      out.push_back({&job_.experiment.quantizers[*variant.quantizer],
                     draw_of(job_.experiment, variant), keys_to_do(same)});
    }
  }
  return out;
}

}  // namespace quench
