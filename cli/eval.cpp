// quench eval MODEL: measures one checkpoint with any quantizers and metrics, without a manifest.
#include <fmt/format.h>

#include <algorithm>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "cli/single_model.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/store/derived.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/runner.hpp"

namespace quench {

namespace {

struct EvalOptions : SingleModel {
  std::vector<std::string> quantizers;
  std::vector<std::string> metrics;
  bool json = false;
};

Experiment make_experiment(const EvalOptions& options, Context& context) {
  Experiment out = experiment_of(options, context.catalog(), context.hub());
  out.name = "eval";
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

// Shows the steps of the one experiment.
class EvalStatus final : public RunStatus {
 public:
  EvalStatus(bool prints_json, const Context& context) : progress_(context, prints_json) {}

  void begin() override { started = true; }
  void step(const std::string& what, uint64_t, uint64_t) override { progress_.step(what); }

  bool started = false;

 private:
  Progress progress_;
};

std::vector<Record> measure(const Experiment& experiment, bool prints_json, Context& context) {
  EvalStatus status(prints_json, context);
  RunnerOptions runner;
  runner.hub = context.hub();
  runner.home = context.home();
  runner.fail_without_values = true;
  try {
    return run_experiments(context.catalog(), {experiment}, runner, status);
  } catch (const Error& error) {
    if (!status.started) {
      throw_if_usage(error);
    }
    throw;
  }
}

int evaluate(const EvalOptions& options, Context& context) {
  context.apply_threads();
  const Experiment experiment = as_usage([&] { return make_experiment(options, context); });
  HubClaim claim;
  claim.set(hub_commits(experiment.checkpoints, context));
  const std::vector<Record> measured = measure(experiment, options.json, context);
  const std::vector<Record> records = with_derived(measured);
  if (options.json) {
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
  if (!options.json) {
    print_error(failed);
  }
  return incomplete(failed);
}

}  // namespace

void add_eval(Verb& verb, Context& context) {
  auto options = std::make_shared<EvalOptions>();
  verb.examples(
      {"quench eval model --metric validation_loss:text=t.txt,block=512 --quantizer rtn:bits=4"});
  add_single_model(verb, *options);
  verb.option("--quantizer", options->quantizers, "id[:key=value,...]; repeatable")
      .placeholder("SPEC");
  verb.option("--metric", options->metrics, "id[:key=value,...]; repeatable")
      .placeholder("SPEC")
      .required();
  verb.flag("--json", options->json, "Print records as JSON");
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return evaluate(*options, context); });
}

}  // namespace quench
