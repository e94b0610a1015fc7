#include "cli/single_model.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/progress.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/parse_text.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/single_checkpoint.hpp"
#include "run/runner.hpp"

namespace quench {

namespace {

// Shows the steps of the one experiment.
class EvalStatus final : public RunStatus {
 public:
  explicit EvalStatus(const Context& context) : progress_(context) {}

  void begin() override { started = true; }
  void step(const std::string& what, uint64_t, uint64_t) override { progress_.step(what); }

  bool started = false;

 private:
  Progress progress_;
};

}  // namespace

void add_single_model(Verb& verb, SingleModel& to) {
  verb.option("model", to.model, "Folder, file, or hf://org/name[@revision]").required();
  verb.option("--calibration", to.calibration, "text=FILE,sequences=N,length=T or tokens=FILE")
      .placeholder("SPEC");
  verb.option("--tokenizer", to.tokenizer,
              "A file that a tokenizer plugin reads, a folder or hf://org/name that has one, "
              "ID:FILE to name the plugin, or bytes (default: the checkpoint's own)");
  verb.option("--dtype", to.dtype, "float32, float64, bfloat16, float16");
  verb.option("--device", to.device, "cpu, cuda or cuda:N");
  verb.option("--seed", to.seed, "Seed of all random numbers").whole_number();
}

Experiment experiment_of(const SingleModel& model, Catalog& catalog, const HubEnvironment& hub) {
  Experiment out;
  out.seed = model.seed;
  out.dtype = parse_dtype(model.dtype);
  out.device = parse_device(model.device);
  if (!model.tokenizer.empty()) {
    WrittenTokenizer written = read_tokenizer_name(catalog, model.tokenizer);
    if (is_hub_spec(written.path)) {
      written.path = resolve(written.path, hub).folder.string();
    }
    out.tokenizer = take_tokenizer(catalog, written);
  }
  out.checkpoints.push_back(single_checkpoint(model.model));
  out.weights = weights_as_they_are(out.checkpoints);
  return out;
}

std::string task_metric(const std::string& tasks, const Catalog& catalog) {
  std::string names;
  std::string rest;
  for (const std::string_view word : split(tasks, ',')) {
    const bool is_name = rest.empty() && word.find('=') == std::string_view::npos;
    (is_name ? names : rest) += fmt::format("{}{}",
                                            is_name && names.empty() ? ""
                                            : is_name                ? "+"
                                                                     : ",",
                                            word);
  }
  for (const PluginDescription* plugin : catalog.of_kind("metric")) {
    if (find_parameter(*plugin, "tasks") != nullptr) {
      return fmt::format("{}:tasks={}{}", plugin->id, names, rest);
    }
  }
  throw UsageError(QUENCH_NOT_FOUND, "--task: no metric that asks questions is there");
}

std::vector<Record> measure_once(const Experiment& experiment, Context& context, bool fail_fast) {
  EvalStatus status(context);
  RunnerOptions runner;
  runner.hub = context.hub();
  runner.home = context.home();
  runner.fail_without_values = true;
  runner.fail_fast = fail_fast;
  try {
    return run_experiments(context.catalog(), {experiment}, runner, status);
  } catch (const Error& error) {
    if (!status.started) {
      throw_if_usage(error);
    }
    throw;
  }
}

}  // namespace quench
