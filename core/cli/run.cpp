// quench run MANIFEST and quench plan MANIFEST.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/cli/command.hpp"
#include "core/cli/progress.hpp"
#include "core/cli/table.hpp"
#include "core/config/manifest.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/plugin/host_services.hpp"
#include "core/run/resolve_items.hpp"
#include "core/run/runner.hpp"
#include "core/store/record_file.hpp"
#include "core/version.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct RunOptions {
  std::string manifest;
  std::string out;
  std::vector<std::string> sets;
  std::string device;
  bool fail_fast = false;
  bool json = false;
};

Experiment load(const RunOptions& options, Context& context, Manifest& manifest) {
  return as_usage([&] {
    std::vector<std::string> sets = options.sets;
    if (!options.device.empty()) {
      parse_device(options.device);
      sets.push_back("device=" + options.device);
    }
    manifest = load_manifest(options.manifest, sets);
    return resolve_manifest(manifest, context.catalog(), context.hub);
  });
}

// What the numbers depend on beside the manifest.
nlohmann::json run_description(const Experiment& experiment, Context& context) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const PluginDescription& item : context.catalog().items()) {
    plugins.push_back(
        {{"kind", item.kind}, {"id", item.id}, {"version", item.version}, {"sha256", item.sha256}});
  }
  return {{"quench", kVersion},
          {"name", experiment.name},
          {"seed", experiment.seed},
          {"dtype", dtype_text(experiment.dtype)},
          {"device", device_text(experiment.device)},
          {"threads", HostServices::instance().threads()},
          {"plugins", plugins}};
}

// Makes the results' folder with all that describes the run.
void prepare_folder(const fs::path& folder, const RunOptions& options, const Manifest& manifest,
                    const Experiment& experiment, Context& context) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be made: {}", folder.string(), error.message());
  }
  write_file_atomically(folder / "manifest.yaml", read_file(options.manifest, kYamlMaxBytes));
  write_file_atomically(folder / "manifest.json", yaml_to_json(manifest.resolved).dump(1) + "\n");
  write_file_atomically(folder / "run.json", run_description(experiment, context).dump(1) + "\n");
}

// Runs all cells; every record is in `file` before the next cell begins.
std::vector<Record> run_cells(const RunOptions& options, const Manifest& manifest,
                              const Experiment& experiment, const fs::path& folder,
                              Context& context, std::optional<RecordFile>& file) {
  Progress progress(options.json);
  bool started = false;
  size_t kept = 0;
  RunnerOptions runner;
  runner.hub = context.hub;
  runner.fail_fast = options.fail_fast;
  runner.on_start = [&] {
    started = true;
    prepare_folder(folder, options, manifest, experiment, context);
    file.emplace(folder, "0");
  };
  runner.on_step = [&](const std::string& what) { progress.step(what); };
  runner.on_record = [&](const Record& record) {
    file->append(record);
    ++kept;
  };
  try {
    return run_experiment(context.catalog(), experiment, runner);
  } catch (const Error& error) {
    if (!started) {
      throw_if_usage(error);
    }
    if (error.code() == QUENCH_CANCELLED && file) {
      fail(QUENCH_CANCELLED, "stopped on request; {} finished records are in {}", kept,
           file->path().string());
    }
    throw;
  }
}

int run(const RunOptions& options, Context& context) {
  context.apply_threads();
  Manifest manifest;
  const Experiment experiment = load(options, context, manifest);
  const fs::path folder =
      options.out.empty() ? fs::path("runs") / experiment.name : fs::path(options.out);
  std::optional<RecordFile> file;
  const std::vector<Record> records =
      run_cells(options, manifest, experiment, folder, context, file);
  file->close();
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Record& record : records) {
      list.push_back(to_json(record));
    }
    fmt::print("{}\n", nlohmann::json{{"name", experiment.name}, {"records", list}}.dump(1));
  } else {
    fmt::print("{}", records_table(records));
    fmt::print("records: {}\n", file->path().string());
  }
  const auto failed = [](const Record& record) { return !record.error.empty(); };
  return std::any_of(records.begin(), records.end(), failed) ? kExitFailed : kExitOk;
}

int plan(const RunOptions& options, Context& context) {
  Manifest manifest;
  const Experiment experiment = load(options, context, manifest);
  const size_t methods = experiment.quantizers.size() + 1;
  const size_t cells = experiment.checkpoints.size() * methods * experiment.metrics.size();
  if (options.json) {
    nlohmann::json checkpoints = nlohmann::json::array();
    for (const CheckpointCell& cell : experiment.checkpoints) {
      checkpoints.push_back({{"model", cell.model},
                             {"revision", cell.revision},
                             {"step", cell.step ? nlohmann::json(*cell.step) : nlohmann::json()}});
    }
    nlohmann::json quantizers = nlohmann::json::array();
    for (const QuantizerCell& cell : experiment.quantizers) {
      quantizers.push_back(
          {{"id", cell.plugin->id},
           {"params", cell.parameters},
           {"label", cell.label},
           {"calibration",
            cell.calibration ? nlohmann::json(cell.calibration->name) : nlohmann::json()}});
    }
    nlohmann::json metrics = nlohmann::json::array();
    for (const MetricCell& cell : experiment.metrics) {
      metrics.push_back(
          {{"id", cell.plugin->id}, {"params", cell.parameters}, {"label", cell.label}});
    }
    fmt::print("{}\n", nlohmann::json{{"name", experiment.name},
                                      {"checkpoints", checkpoints},
                                      {"quantizers", quantizers},
                                      {"metrics", metrics},
                                      {"cells", cells}}
                           .dump(1));
    return kExitOk;
  }
  fmt::print("{}: {} cells = {} checkpoints x (float + {} quantizers) x {} metrics\n",
             experiment.name, cells, experiment.checkpoints.size(), experiment.quantizers.size(),
             experiment.metrics.size());
  for (const CheckpointCell& cell : experiment.checkpoints) {
    fmt::print("  checkpoint  {} {}\n", cell.model, cell.revision);
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    fmt::print("  quantizer   {}{}\n", cell.label,
               cell.calibration ? ", calibrated on " + cell.calibration->name : "");
  }
  for (const MetricCell& cell : experiment.metrics) {
    fmt::print("  metric      {}\n", cell.label);
  }
  return kExitOk;
}

std::shared_ptr<RunOptions> add_manifest_options(CLI::App& command, Context& context) {
  auto options = std::make_shared<RunOptions>();
  command.add_option("manifest", options->manifest, "YAML manifest")->required();
  command.add_option("--set", options->sets, "a.b=value: change the manifest; several times")
      ->type_name("PATH=VALUE");
  command.add_option("--device", options->device, "cpu or cuda:N, instead of the manifest's");
  command.add_flag("--json", options->json, "Print JSON");
  add_plugin_options(command, context);
  return options;
}

}  // namespace

void add_run(CLI::App& app, Context& context, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run the experiment of a manifest");
  auto options = add_manifest_options(*command, context);
  command->add_option("--out", options->out, "Folder for the results (default: runs/NAME)")
      ->type_name("DIR");
  command->add_flag("--fail-fast", options->fail_fast, "Stop at the first failed cell");
  add_thread_option(*command, context);
  command->callback([&context, &action, options] {
    action = [&context, options] { return run(*options, context); };
  });
}

void add_plan(CLI::App& app, Context& context, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Show what a manifest would run");
  auto options = add_manifest_options(*command, context);
  command->callback([&context, &action, options] {
    action = [&context, options] { return plan(*options, context); };
  });
}

}  // namespace quench
