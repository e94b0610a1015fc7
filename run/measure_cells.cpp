#include "run/measure_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/json/canonical_json.hpp"
#include "core/plugin/at_work.hpp"
#include "core/plugin/plugin_call.hpp"
#include "core/plugin/running_code.hpp"
#include "core/weights/float_source.hpp"
#include "run/journal_of_cell.hpp"

namespace quench {

namespace {

// Other weights that a metric asked for.
std::vector<MetricWeights> further_weights(const WeightsAtWork& weights, const MetricCell& metric,
                                           const VariantModel& variant) {
  const Experiment& experiment = weights.job.experiment;
  std::vector<MetricWeights> out;
  const CheckpointCell& here = weights.checkpoint();
  if ((metric.needs & QUENCH_METRIC_NEEDS_FLOAT) != 0 && variant.kept != nullptr) {
    if (variant.kept->has_ops()) {
      fail(QUENCH_UNSUPPORTED,
           "metric {}: compares weights, and the quantizer replaces linears by operations of its "
           "own",
           metric.plugin->id);
    }
    out.push_back({"float", here.branch, here.step, here.tokens,
                   std::make_shared<FloatSource>(variant.open.model, *variant.kept)});
  }
  if ((metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0) {
    for (const size_t place : branch_until(experiment, weights.weights.checkpoint)) {
      const CheckpointCell& cell = experiment.checkpoints[place];
      out.push_back(
          {cell.revision.empty() ? cell.model : cell.revision, cell.branch, cell.step, cell.tokens,
           open_files(weights.job.run.catalog, cell, weights.job.run.options.hub).source});
    }
  }
  return out;
}

// The current weights in the dtype of one metric: reads unchanged ones from the files, without the
// rounding to this run's own dtype.
ModelHandle in_dtype(quench_dtype dtype, const WeightsAtWork& weights,
                     const VariantModel& variant) {
  if (variant.kept != nullptr && variant.kept->has_ops()) {
    fail(QUENCH_UNSUPPORTED, "a metric in a dtype of its own, and the quantizer replaces linears");
  }
  const OpenWeights& open = variant.open;
  const FloatWeights nothing(variant.open.model);
  std::shared_ptr<const TensorSource> source = open.folder.source;
  if (variant.kept != nullptr || weights.weights.averaging) {
    source = std::make_shared<FloatSource>(open.model, nothing);
  }
  return open_model(weights.job.run.catalog, source, open.folder.config_json,
                    (open.folder.path / "config.json").string(), weights.checkpoint().family, dtype,
                    weights.job.experiment.device);
}

// Values from a plugin may not fit a record. That fails the cell; written to a file, it would end
// the run.
void check_form(const std::vector<Record>& values) {
  for (const Record& value : values) {
    canonical_json(to_json(value));
  }
}

std::vector<Record> measure(WeightsAtWork& weights, const VariantModel& variant,
                            const MeasuredCell& cell) {
  const RunContext& run = weights.job.run;
  const Experiment& experiment = weights.job.experiment;
  const MetricCell& metric = experiment.metrics[cell.cell.metric];
  const CellsAtWork at_work({&cell.cell.key, cell.cell.key.empty() ? size_t{0} : size_t{1}});
  JournalOfCell journal(run.options, cell.cell.key);
  std::optional<ModelHandle> own;
  if (metric.dtype && !same_dtype(*metric.dtype, experiment.dtype)) {
    own.emplace(in_dtype(*metric.dtype, weights, variant));
  }
  std::vector<Record> values =
      evaluate_metric(run.metrics, run.corpora, metric, own ? *own : variant.open.model,
                      *weights.tokenizer, further_weights(weights, metric, variant),
                      is_fused(weights, cell) && !own ? &weights.scores : nullptr);
  try {
    run.history.check_read(metric, run.metrics.wanted(metric, run.corpora.hub()));
  } catch (...) {
    journal.forget();  // its pieces are not of this key
    throw;
  }
  check_running_code();
  for (Record& value : values) {
    weights.describe(value, cell, variant.quantizer);
  }
  if (!variant.details.is_null()) {
    values.front().details.update(variant.details);
  }
  check_form(values);
  values = run.keeper.keep(std::move(values));
  journal.forget();
  return values;
}

}  // namespace

void measure_cells(WeightsAtWork& weights, const VariantModel& variant,
                   std::span<MeasuredCell> cells) {
  for (MeasuredCell& cell : cells) {
    if (!cell.records.empty()) {
      continue;
    }
    try {
      cell.records = measure(weights, variant, cell);
    } catch (...) {
      const Error error = current_error();
      weights.job.run.keeper.throw_if_final(error);
      cell.records = weights.keep_failure(cell, variant.quantizer, error);
    }
  }
}

bool is_fused(const WeightsAtWork& weights, const MeasuredCell& cell) {
  return weights.job.experiment.metrics[cell.cell.metric].scope.fused &&
         std::any_of(weights.cells.begin(), weights.cells.end(), [&](const MeasuredCell& each) {
           return each.cell.metric == cell.cell.metric && each.cell.variant.quantizer &&
                  each.to_do();
         });
}

}  // namespace quench
