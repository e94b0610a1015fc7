// quench export RUN: exports the records of a run to experiment trackers.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/io/atomic_file.hpp"
#include "core/store/derived.hpp"
#include "core/store/run_folder.hpp"
#include "report/export/event_file.hpp"
#include "report/export/mlflow.hpp"
#include "report/export/wandb_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct ExportOptions {
  std::string run;
  std::string to;
  std::string out;
  std::string server;
  std::string experiment;
};

fs::path folder_of(const std::string& run) {
  const fs::path below = fs::path("runs") / run;
  if (!fs::is_directory(run) && !fs::is_directory(below)) {
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("{}: no such folder, and no runs/{} either", run, run));
  }
  return fs::is_directory(run) ? fs::path(run) : below;
}

// Writes one event file per line into a folder of its name, so that each line is one run and all
// have the same tags. The file name is fixed: a second export replaces the first.
void write_event_files(const std::vector<TrackedLine>& lines, const fs::path& folder) {
  size_t points = 0;
  for (const TrackedLine& line : lines) {
    make_folders(folder / line.name);
    write_file_atomically(folder / line.name / "events.out.tfevents.0000000000.quench",
                          event_file(line.points));
    points += line.points.size();
  }
  fmt::print("{}: {} lines, {} values\n", folder.string(), lines.size(), points);
}

int export_run(const ExportOptions& options) {
  const fs::path folder = folder_of(options.run);
  const RunRecords run = read_run(folder);
  if (run.records.empty()) {
    fail(QUENCH_NOT_FOUND, "{}: has no records", folder.string());
  }
  const std::vector<TrackedLine> lines = tracked_lines(with_derived(run.records));
  if (options.to == "tensorboard") {
    write_event_files(lines, options.out.empty() ? folder / "tensorboard" : fs::path(options.out));
    return kExitOk;
  }
  const std::string name =
      options.experiment.empty() ? fs::canonical(folder).filename().string() : options.experiment;
  if (options.to == "wandb") {
    const fs::path out = options.out.empty() ? folder / "wandb" : fs::path(options.out);
    const WandbOutcome outcome = export_to_wandb(out, name, lines);
    fmt::print("{}: project {}: {} runs written, {} as they were; send them with: wandb sync {}\n",
               out.string(), name, outcome.written, outcome.unchanged,
               (out / "offline-run-*").string());
    return kExitOk;
  }
  if (options.server.empty()) {
    throw UsageError(QUENCH_INVALID_ARGUMENT, "--to mlflow: wants --server URL");
  }
  const MlflowOutcome outcome = export_to_mlflow(options.server, name, lines);
  fmt::print("{}: experiment {}: {} runs made, {} replaced, {} as they were\n", options.server,
             name, outcome.made, outcome.replaced, outcome.unchanged);
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("export", "Export the values of a run to an experiment tracker");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("run", options->run, "Folder of the run, or its name below runs/")
      ->required();
  command
      ->add_option("--to", options->to,
                   "tensorboard: event files; mlflow: runs on a server; wandb: offline files")
      ->required()
      ->check(CLI::IsMember({"tensorboard", "mlflow", "wandb"}));
  command
      ->add_option("-o,--out", options->out,
                   "Folder to write to (default: RUN/tensorboard, RUN/wandb)")
      ->type_name("DIR");
  command
      ->add_option("--server", options->server, "MLflow server, for example http://127.0.0.1:5000")
      ->type_name("URL");
  command
      ->add_option("--experiment", options->experiment,
                   "Name of the experiment or wandb project (default: name of the run's folder)")
      ->type_name("NAME");
  command->callback([&action, options] { action = [options] { return export_run(*options); }; });
}

}  // namespace quench
