// quench eval MODEL: measures one checkpoint with any quantizers and metrics, without a manifest.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/eval_defaults.hpp"
#include "cli/single_model.hpp"
#include "cli/standard_streams.hpp"
#include "cli/strict_option.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/store/derived.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/resolve_items.hpp"

namespace quench {

namespace {

constexpr int64_t kLongest = 512;                     // ids of a block
constexpr uint64_t kMostConfig = uint64_t{64} << 20;  // bytes

struct EvalOptions : SingleModel {
  std::vector<std::string> quantizers;
  std::vector<std::string> metrics;
  std::vector<std::string> tasks;  // further metrics
};

// What is wrong with the model, all of it at once, before anything is shown as being at work.
void check_model(const Experiment& experiment, Context& context) {
  const CheckpointCell& cell = experiment.checkpoints[0];
  if (!is_hub_spec(cell.location) && !exists_at(cell.location)) {
    fail(QUENCH_NOT_FOUND, "checkpoint {} does not exist{}", printable(cell.location, 4096),
         path_hint(cell.location));
  }
  try {
    open_headers(context.catalog(), cell, context.hub());
  } catch (const Error& no_weights) {
    // Where weights are not there the config says more; any other fault stands alone.
    const std::filesystem::path config = std::filesystem::path(cell.model) / "config.json";
    if (no_weights.code() != QUENCH_NOT_FOUND || !is_file_at(config)) {
      throw;
    }
    try {
      choose_family(context.catalog(), read_file(config, kMostConfig), config.string());
    } catch (const Error& no_family) {
      fail(no_weights.code(), "{}; and {}", no_weights.what(), no_family.what());
    }
    throw;
  }
}

Experiment make_experiment(EvalOptions options, Context& context) {
  Experiment out = experiment_of(options, context.catalog(), context.hub());
  out.name = "eval";
  check_model(out, context);
  for (const std::string& task : options.tasks) {
    options.metrics.push_back(task_metric(task, context.catalog()));
  }
  if (options.metrics.empty()) {
    const EvalDefaults defaults = eval_defaults({out}, context, kLongest);
    options.metrics = defaults.metrics;
    const bool calibrates = options.calibration.empty();
    options.calibration = calibrates ? defaults.calibration : options.calibration;
    options.quantizers = options.quantizers.empty() ? defaults.quantizers : options.quantizers;
    tell_defaults(defaults);
  }
  Catalog& catalog = context.catalog();
  std::optional<Calibration> calibration;
  if (!options.calibration.empty()) {
    calibration = resolve_calibration(options.calibration, catalog);
  }
  for (const std::string& text : options.quantizers) {
    out.quantizers.push_back(resolve_quantizer(text, catalog));
    out.quantizers.back().calibration = calibration;
  }
  for (const std::string& text : options.metrics) {
    out.metrics.push_back(resolve_metric(text, catalog));
  }
  return out;
}

// Says how long it will take, and asks whether to go on where that is long and a person can answer.
void announce_time(const Experiment& experiment, Context& context) {
  constexpr double kLong = 600;  // seconds
  if (answers()) {
    return;
  }
  const EvalTime time = eval_time(experiment, context);
  print_line("expected time: {} ({})", duration_text(time.seconds), time.basis);
  std::fflush(results());
  if (time.seconds <= kLong || ::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    return;
  }
  fmt::print(stderr, "go on? [y/N] ");
  std::fflush(stderr);
  if (const int answer = std::getchar(); answer != 'y' && answer != 'Y') {
    fail(QUENCH_CANCELLED, "not measured; --metric and --quantizer choose less");
  }
}

int evaluate(const EvalOptions& options, Context& context) {
  context.apply_threads();
  const Experiment experiment = as_usage([&] { return make_experiment(options, context); });
  if (options.metrics.empty() && options.tasks.empty()) {
    announce_time(experiment, context);
  }
  HubClaim claim;
  claim.set(hub_commits(experiment.checkpoints, context));
  const std::vector<Record> measured = measure_once(experiment, context);
  const std::vector<Record> records = with_derived(measured);
  if (answers()) {
    nlohmann::json list = nlohmann::json::array();
    for (const Record& record : records) {
      list.push_back(to_json(record));
    }
    answer({{"model", options.model}, {"records", list}});
  } else {
    fmt::print(results(), "{}", records_table(records, output_columns()));
  }
  const auto failures = std::count_if(measured.begin(), measured.end(),
                                      [](const Record& record) { return !record.error.empty(); });
  if (failures == 0) {
    return kExitOk;
  }
  const std::string failed = fmt::format("{} of {} records failed", failures, measured.size());
  if (!answers()) {
    print_error(failed);
  }
  return incomplete(failed);
}

}  // namespace

void add_eval(Verb& verb, Context& context) {
  auto options = std::make_shared<EvalOptions>();
  verb.examples(
      {"quench eval model",
       "quench eval model --metric validation_loss:text=t.txt,block=512 --quantizer rtn:bits=4"});
  add_single_model(verb, *options);
  verb.option("--quantizer", options->quantizers,
              "id[:key=value,...]; repeatable (default without --metric: two at 3 and 4 bits)")
      .placeholder("SPEC");
  verb.option("--metric", options->metrics,
              "id[:key=value,...]; repeatable (default: the loss on a text that comes with quench)")
      .placeholder("SPEC");
  verb.option("--task,--tasks", options->tasks,
              "NAME[,NAME...][,data=DIR,shots=5,...]: the accuracy of tasks; repeatable")
      .placeholder("NAMES");
  verb.json("Print records as JSON");
  add_strict_option(verb);
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return evaluate(*options, context); });
}

}  // namespace quench
