// quench gate FLOAT QUANTIZED: whether a quantized model keeps a budget; quench compare A B: how
// far two models are apart. Both are measured here, and judged in Python (python/quench/gate).
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/eval_defaults.hpp"
#include "cli/python_verb.hpp"
#include "cli/single_model.hpp"
#include "cli/standard_streams.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/inputs/weights/open_weights.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "run/manifest/resolve_items.hpp"

namespace quench {

namespace {

using nlohmann::json;

struct GateOptions : SingleModel {
  std::string other;
  std::string metric;
  std::string task;    // in place of the metric
  std::string budget;  // empty: compare
  int64_t looks = 1;
};

// Of two models, or of one and a quantizer, which is then of the first experiment.
struct Sides {
  Experiment first;
  std::optional<Experiment> second;
};

Experiment side(const SingleModel& options, const std::string& model, const std::string& metric,
                Context& context) {
  SingleModel of = options;
  of.model = model;
  Experiment out = experiment_of(of, context.catalog(), context.hub());
  out.name = model;
  out.metrics.push_back(resolve_metric(metric, context.catalog()));
  return out;
}

bool is_model(const std::string& other) {
  return is_hub_spec(other) || std::filesystem::exists(other);
}

// What is judged on where neither a metric nor a task is named: the shipped text.
void take_defaults(GateOptions& options, Context& context) {
  std::vector<Experiment> models = {experiment_of(options, context.catalog(), context.hub())};
  if (is_model(options.other)) {
    SingleModel other = options;
    other.model = options.other;
    models.push_back(experiment_of(other, context.catalog(), context.hub()));
  }
  constexpr int64_t kLongest = 128;  // ids: a verdict wants many blocks of the shipped text
  const EvalDefaults defaults = eval_defaults(models, context, kLongest);
  options.metric = defaults.metrics.front();
  if (models.size() == 1 && options.calibration.empty()) {
    options.calibration = defaults.calibration;  // for a quantizer that wants some
  }
  tell_defaults(defaults);
}

Sides sides_of(const GateOptions& options, Context& context) {
  Sides out{side(options, options.model, options.metric, context), std::nullopt};
  if (is_model(options.other)) {
    out.second = side(options, options.other, options.metric, context);
    return out;
  }
  if (options.other.find('/') != std::string::npos) {
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("{}: is not there; wanted a folder, a file, hf://org/name or a "
                                 "quantizer such as ID:bits=4",
                                 printable(options.other, 400)));
  }
  out.first.quantizers.push_back(resolve_quantizer(options.other, context.catalog()));
  if (!options.calibration.empty()) {
    out.first.quantizers.back().calibration =
        resolve_calibration(options.calibration, context.catalog());
  }
  return out;
}

json config_of(const CheckpointFolder& folder, const std::string& name) {
  return folder.config_json.empty() ? json::object() : parse_json(folder.config_json, name);
}

// Losses over other ids, or over more of them, are no losses of the same text. The second model is
// given the first one's tokenizer where it has none.
void check_same_text(const Experiment& first, Experiment& second, bool of_one_shape,
                     Context& context) {
  Catalog& catalog = context.catalog();
  const CheckpointFolder a = open_headers(catalog, first.checkpoints[0], context.hub());
  const CheckpointFolder b = open_headers(catalog, second.checkpoints[0], context.hub());
  const json shape = config_of(a, first.name);
  const json other = config_of(b, second.name);
  std::vector<std::string> equal = {"vocab_size"};
  if (of_one_shape) {
    equal.insert(equal.end(), {"hidden_size", "num_hidden_layers"});
  }
  for (const std::string& name : equal) {
    if (shape.contains(name) && other.contains(name) && shape[name] != other[name]) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: got {} {}, wanted {} as in {}", second.name, name,
           other[name].dump(), shape[name].dump(), first.name);
    }
  }
  TokenizerChoice of_first = choose_tokenizer(catalog, first, first.checkpoints[0], a);
  TokenizerChoice of_second = choose_tokenizer(catalog, second, second.checkpoints[0], b);
  if (!of_second.exists()) {
    const auto file = find_tokenizer_file(catalog, a.path);
    second.tokenizer = file ? file->string() : "";
    return;
  }
  Corpora corpora(catalog, TokenCache(context.home()), context.hub());
  for (const auto& [name, use] : first.metrics[0].corpora) {
    if (of_first.exists() &&
        corpora.load(use, of_first)->ids != corpora.load(use, of_second)->ids) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: got another tokenizer, which makes other ids of corpus {}, wanted that of {}",
           second.name, use.name, first.name);
    }
  }
}

json records_of(const Experiment& experiment, Context& context) {
  json out = json::array();
  for (const Record& record : measure_once(experiment, context, /*fail_fast=*/true)) {
    out.push_back(to_json(record));
  }
  return out;
}

std::string judged(const json& request, Context& context) {
  MemoryFile input;
  input.write(request.dump(-1, ' ', false, json::error_handler_t::replace));
  return python_output({"gate", {}, {"numpy", "scipy"}}, context, &input);
}

int gate(GateOptions options, Context& context) {
  context.apply_threads();
  if (!options.metric.empty() && !options.task.empty()) {
    throw UsageError(QUENCH_INVALID_ARGUMENT, "got both of --metric and --task, wanted one");
  }
  if (!options.task.empty()) {
    options.metric = task_metric(options.task, context.catalog());
  }
  json request = {{"names", {options.model, options.other}},
                  {"budget", options.budget.empty() ? json() : json(options.budget)},
                  {"looks", options.looks},
                  {"home", context.home().string()},
                  {"first", nullptr},
                  {"second", nullptr}};
  judged(request, context);  // before hours of work: whether Python can judge, and the budget
  if (options.metric.empty()) {
    as_usage([&] { take_defaults(options, context); });
  }
  request["metric"] = options.metric;
  request["calibration"] = options.calibration;
  Sides sides = as_usage([&] { return sides_of(options, context); });
  std::vector<CheckpointCell> read = sides.first.checkpoints;
  if (sides.second) {
    read.push_back(sides.second->checkpoints[0]);
  }
  HubClaim claim;
  claim.set(hub_commits(read, context));
  if (sides.second) {
    as_usage(
        [&] { check_same_text(sides.first, *sides.second, !options.budget.empty(), context); });
  }
  request["first"] = records_of(sides.first, context);
  if (sides.second) {
    request["second"] = records_of(*sides.second, context);
  }
  const json said = parse_json(judged(request, context), "gate");
  for (const json& warning : said.at("warnings")) {
    print_warning("warning: " + warning.get<std::string>());
  }
  if (!answers()) {
    fmt::print(results(), "{}", said.at("text").get<std::string>());
  }
  answer(said.at("data"));
  const auto verdict = said.at("data").at("verdict").get<std::string>();
  if (verdict != "beyond" && verdict != "undecided") {
    return kExitOk;
  }
  incomplete(said.at("what").get<std::string>());
  return verdict == "beyond" ? kExitBeyond : kExitUndecided;
}

std::shared_ptr<GateOptions> add_two_models(Verb& verb, Context& context, const char* second) {
  auto options = std::make_shared<GateOptions>();
  add_single_model(verb, *options);
  verb.option(second, options->other,
              "Folder, file or hf://org/name[@revision] of any format that is read, or a quantizer "
              "id[:key=value,...] for the first model")
      .required();
  verb.option("--metric", options->metric,
              "id[:key=value,...]: a loss in nats per token, or one task's accuracy (default: the "
              "loss on a text that comes with quench)")
      .placeholder("SPEC");
  verb.option("--task,--tasks", options->task,
              "The accuracy of a task: NAME[,data=DIR,shots=5,...], as a metric's spec has it")
      .placeholder("NAME");
  verb.json("Print the judgement as JSON");
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return gate(*options, context); });
  return options;
}

}  // namespace

void add_gate(Verb& verb, Context& context) {
  verb.examples({"quench gate model model-gptq --budget 0.5%",
                 "quench gate model model-gptq --budget 0.5% --metric "
                 "validation_loss:text=t.txt,block=512",
                 "quench gate model rtn:bits=4 --budget 1% --task sciq"});
  const auto options = add_two_models(verb, context, "quantized");
  verb.option("--budget", options->budget,
              "What may be lost at most: a share of the loss, or of the questions, such as 0.5%")
      .placeholder("SHARE")
      .required();
  verb.option("--looks", options->looks,
              "How often this is asked at most while text is added (default: 1)")
      .between(1, 20)
      .placeholder("N");
}

void add_compare(Verb& verb, Context& context) {
  verb.examples({"quench compare model-gptq model-awq",
                 "quench compare model-gptq model-awq --metric validation_loss:text=t.txt"});
  add_two_models(verb, context, "other");
}

}  // namespace quench
