// quench quantize MODEL: quantizes one checkpoint into a folder that other tools load.
#include <fmt/format.h>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/model_card.hpp"
#include "cli/progress.hpp"
#include "cli/single_model.hpp"
#include "cli/standard_streams.hpp"
#include "cli/strict_option.hpp"
#include "core/base/io/atomic_file.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/weights/export_weights.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/inputs/weights/open_weights.hpp"
#include "core/pass/evaluate.hpp"
#include "core/pass/quantize_cell.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/folder_card.hpp"
#include "core/version.hpp"
#include "run/manifest/module_rules.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/row_folders.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct QuantizeArguments : SingleModel {
  std::string quantizer;
  std::string format;
  std::string out;
  std::vector<std::string> metrics;
};

struct Job {
  Experiment experiment;  // one checkpoint, one quantizer, the metrics
  const PluginDescription* format = nullptr;
};

Job make_job(const QuantizeArguments& options, Context& context) {
  if (std::filesystem::exists(std::filesystem::symlink_status(options.out))) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: already exists; nothing is overwritten",
         printable(options.out, 4096));
  }
  Job job;
  job.format = &context.catalog().require("format", options.format);
  job.experiment = experiment_of(options, context.catalog(), context.hub());
  Experiment& out = job.experiment;
  out.quantizers.push_back(resolve_quantizer(options.quantizer, context.catalog()));
  QuantizerCell& quantizer = out.quantizers.front();
  if (!options.calibration.empty()) {
    quantizer.calibration = resolve_calibration(options.calibration, context.catalog());
  }
  if (const std::string fault =
          export_fault(FormatHandle(context.catalog(), *job.format), quantizer.parameters);
      !fault.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", quantizer.label, fault);
  }
  if (quantizer.transform) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: a transform also changes weights that stay in float, which the file takes from the "
         "checkpoint",
         quantizer.label);
  }
  quantizer.store_as = job.format;
  for (const std::string& text : options.metrics) {
    out.metrics.push_back(resolve_metric(text, context.catalog()));
  }
  return job;
}

OpenWeights open(const Job& job, QuantizerInstances& quantizers, Identities& identities,
                 Context& context) {
  const Experiment& experiment = job.experiment;
  context.catalog().compute_on(experiment.device);
  OpenWeights opened = open_weights(context.catalog(), experiment, experiment.weights.front(),
                                    [&](const CheckpointCell& cell) {
                                      return identities.hold(
                                          cell, open_files(context.catalog(), cell, context.hub()));
                                    },
                                    {});
  if (!opened.folder.quantization.is_null()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: holds weights that are quantized already, as {}",
         opened.folder.path.string(), opened.folder.quantization.at("format").get<std::string>());
  }
  const std::string fault = export_fault(FormatHandle(context.catalog(), *job.format),
                                         experiment.quantizers.front().parameters, opened.model,
                                         opened.folder.source.get());
  if (!fault.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", fault);
  }
  const QuantizerCell& quantizer = experiment.quantizers.front();
  ModuleNames names;
  add_names(opened.model, names);
  require_modules(quantizers.of(quantizer), quantizer.parameters, names);
  return opened;
}

// Measures all metrics on the current weights.
std::vector<Record> measure(const Experiment& experiment, MetricInstances& metrics,
                            Corpora& corpora, ModelHandle& model, TokenizerChoice& tokenizer) {
  std::vector<Record> out;
  for (const MetricCell& metric : experiment.metrics) {
    std::vector<Record> values = evaluate_metric(metrics, corpora, metric, model, tokenizer);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

struct Outcome {
  std::vector<Record> floating;
  std::vector<Record> quantized;
  double bits_per_weight = 0;
  nlohmann::json details;
  ExportedFolder written;
};

// The key of the folder's content. Remembers hashes of files as runs do.
nlohmann::json content_of(const Job& job, const fs::path& folder, Identities& identities) {
  std::string missing;
  return *content_of(job.experiment, {0, Variant{0, 0, 0}, folder}, identities, /*measure=*/true,
                     missing);
}

nlohmann::json list_of(const std::vector<Record>& records) {
  nlohmann::json out = nlohmann::json::array();
  for (const Record& record : records) {
    out.push_back(to_json(record));
  }
  return out;
}

// README.md, by Python (python/quench/card.py), with intervals where it has numpy. A folder without
// one is none the worse: then a warning says so.
void write_card(const Job& job, const QuantizeArguments& options, const Outcome& made,
                SealedFolder& target, const Context& context) {
  const QuantizerCell& cell = job.experiment.quantizers.front();
  const nlohmann::json request = {
      {"name", fs::path(options.out).lexically_normal().filename().string()},
      {"model", options.model},
      {"commit", locate_checkpoint(job.experiment.checkpoints.front(), context.hub()).commit},
      {"label", cell.label},
      {"version", kVersion},
      {"quantizer", card_of_quantizer(cell)},
      {"calibration", options.calibration},
      {"format", job.format->id},
      {"scheme", made.written.scheme},
      {"bits_per_weight", made.bits_per_weight},
      {"bytes", made.written.bytes},
      {"float", list_of(made.floating)},
      {"quantized", list_of(made.quantized)},
      {"command", context.command_line()}};
  try {
    write_file_atomically(target.temporary() / kFolderCard,
                          card_texts(nlohmann::json::array({request}), context).at(0),
                          &target.files());
  } catch (const Error& failure) {
    if (failure.code() == QUENCH_CANCELLED) {
      throw;
    }
    print_warning(fmt::format("warning: {}: no model card: {}", options.out, failure.what()));
  }
}

Outcome run(const Job& job, const QuantizeArguments& options, Progress& progress,
            Context& context) {
  const Experiment& experiment = job.experiment;
  HostServices::instance().set_seed(experiment.seed);
  QuantizerInstances quantizers(context.catalog());
  const Fingerprints fingerprints(context.home());
  Identities identities(context.catalog(), fingerprints, context.hub());
  OpenWeights opened = as_usage([&] { return open(job, quantizers, identities, context); });
  const nlohmann::json made_from = content_of(job, options.out, identities);
  TokenizerChoice tokenizer = choose_tokenizer(context.catalog(), experiment,
                                               experiment.checkpoints.front(), opened.folder);
  Corpora corpora(context.catalog());
  MetricInstances metrics(context.catalog());
  QuantizeCell quantize(context.catalog(), corpora, quantizers);
  const QuantizerCell& cell = experiment.quantizers.front();
  const CalibrationDraw draw{0, 1, 0, experiment.seed};
  if (cell.calibration) {  // first, so that a missing corpus is reported at once
    quantize.rows(cell, draw, opened.model, tokenizer);
  }
  Outcome out;
  progress.step("float model");
  out.floating = measure(experiment, metrics, corpora, opened.model, tokenizer);
  progress.step(cell.label);
  FloatWeights kept(opened.model);
  QuantizedModel quantized = quantize.apply(cell, draw, opened.model, tokenizer, kept);
  out.bits_per_weight = quantized.bits_per_weight;
  out.details = std::move(quantized.details);
  progress.step("quantized model");
  out.quantized = measure(experiment, metrics, corpora, opened.model, tokenizer);
  progress.step("writing");
  SealedFolder target(options.out, /*replaces=*/false);
  out.written =
      export_weights(context.catalog(), opened.folder, opened.model, *quantized.stored, target,
                     options.tokenizer == "bytes"
                         ? ""
                         : read_tokenizer_name(context.catalog(), options.tokenizer).path);
  write_card(job, options, out, target, context);
  target.publish(made_from);
  return out;
}

void print_result(const Outcome& result, const QuantizeArguments& options, const Job& job) {
  const nlohmann::json& stored = result.details.at("stored");
  if (!answers()) {
    for (size_t i = 0; i < result.quantized.size(); ++i) {
      fmt::print(results(), "{:<32} float {}  quantized {}\n", result.quantized[i].metric,
                 result.floating[i].value.dump(), result.quantized[i].value.dump());
    }
    fmt::print(results(),
               "{}: {}, {} bits a weight, {:.1f} MB; {} of {} scales rounded, by at most {:.2g}\n",
               options.out, job.format->id, result.bits_per_weight,
               static_cast<double>(result.written.bytes) * 1e-6,
               stored.at("rounded_scales").get<uint64_t>(), stored.at("scales").get<uint64_t>(),
               stored.at("largest_scale_change").get<double>());
    return;
  }
  nlohmann::json metrics = nlohmann::json::array();
  for (size_t i = 0; i < result.quantized.size(); ++i) {
    metrics.push_back({{"metric", result.quantized[i].metric},
                       {"float", result.floating[i].value},
                       {"quantized", result.quantized[i].value},
                       {"unit", result.quantized[i].unit}});
  }
  const QuantizerCell& cell = job.experiment.quantizers.front();
  answer({{"model", options.model},
          {"folder", printable(options.out, 4096)},
          {"quantizer", {{"id", cell.plugin->id}, {"params", cell.parameters}}},
          {"scheme", result.written.scheme},
          {"bits_per_weight", json_number(result.bits_per_weight)},
          {"bytes", result.written.bytes},
          {"metrics", metrics},
          {"details", result.details}});
}

int quantize(const QuantizeArguments& options, Context& context) {
  context.apply_threads();
  const Job job = as_usage([&] { return make_job(options, context); });
  HubClaim claim;
  claim.set(hub_commits(job.experiment.checkpoints, context));
  Progress progress(context);
  const Outcome result = run(job, options, progress, context);
  progress.clear();
  print_result(result, options, job);
  return kExitOk;
}

}  // namespace

void add_quantize(Verb& verb, Context& context) {
  auto options = std::make_shared<QuantizeArguments>();
  verb.examples(
      {"quench quantize model --quantizer gptq:bits=4 --calibration "
       "text=t.txt,sequences=128,length=512 --format gptq -o out"});
  add_single_model(verb, *options);
  verb.option("--quantizer", options->quantizer, "id[:key=value,...]")
      .placeholder("SPEC")
      .required();
  verb.option("--format", options->format,
              "Id of a format that writes, such as gptq or compressed-tensors")
      .required();
  verb.option("-o,--out", options->out, "Folder to write; must not exist")
      .placeholder("DIR")
      .required();
  verb.option("--metric", options->metrics,
              "id[:key=value,...], measured before and after; repeatable")
      .placeholder("SPEC");
  verb.json("Print the result as JSON");
  add_strict_option(verb);
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return quantize(*options, context); });
}

}  // namespace quench
