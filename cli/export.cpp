// quench export RUN: sends the values of a run to an experiment tracker, by the tracker's own
// client, in Python (python/quench/trackers).
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "cli/command.hpp"
#include "cli/run_folder.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/python_file.hpp"
#include "core/process/child_process.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct ExportOptions {
  std::string run;
  std::string to;
  std::string out;
  std::string server;
  std::string experiment;
  std::string python;
  bool follow = false;
};

fs::path interpreter_for(const ExportOptions& options, const PythonSetup& setup) {
  if (options.python.empty()) {
    return usual_interpreter(setup);
  }
  if (!fs::is_regular_file(options.python) || access(options.python.c_str(), X_OK) != 0) {
    throw UsageError(QUENCH_INVALID_ARGUMENT,
                     fmt::format("--python: got {}, wanted the path of a Python interpreter",
                                 printable(options.python, 400)));
  }
  return fs::absolute(options.python);  // a link stays one: an environment is told by it
}

// Paths are absolute, because the child works in the package's folder: Python finds modules in the
// working folder first, and what lies in the user's must not be run.
std::vector<std::string> words_of(const ExportOptions& options, const fs::path& interpreter) {
  std::vector<std::string> words = {interpreter.string(),
                                    "-m",
                                    "quench.trackers",
                                    fs::absolute(run_folder(options.run)).string(),
                                    "--to",
                                    options.to};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      words.push_back(fmt::format("{}={}", name, value));  // a value may begin with '-'
    }
  };
  add("--out", options.out.empty() ? "" : fs::absolute(options.out).string());
  add("--server", options.server);
  add("--experiment", options.experiment);
  if (options.follow) {
    words.emplace_back("--follow");
  }
  return words;
}

int export_run(const ExportOptions& options, const PythonSetup& setup) {
  Command command;
  command.words = words_of(options, interpreter_for(options, setup));
  command.environment = python_environment(setup);
  command.folder = setup.package;
  command.ends_with_starter = true;
  ChildProcess child = ChildProcess::start(command);
  const std::atomic<bool>& cancelled = HostServices::instance().cancel_flag();
  while (!child.ends_within(std::chrono::milliseconds(100))) {
    if (cancelled) {
      child.signal(SIGTERM);  // Ctrl-C has reached it by itself; to say it twice does no harm
    }
  }
  const int code = child.wait().code();
  if (cancelled) {
    fail(QUENCH_CANCELLED, "stopped on request");
  }
  return code;
}

}  // namespace

void add_export(CommandLine& line, Context& context) {
  Verb verb = line.verb("export", "Send the values of a run to an experiment tracker", "Results");
  verb.examples({"quench export runs/m --to tensorboard",
                 "quench export runs/m --to mlflow --server http://127.0.0.1:5000 --follow"});
  auto options = std::make_shared<ExportOptions>();
  verb.option("run", options->run, "Folder of the run, or its name below runs/").required();
  verb.option("--to", options->to,
              "tensorboard: event files; mlflow: runs on a server; wandb: offline files, or "
              "runs on a server")
      .required()
      .one_of({"tensorboard", "mlflow", "wandb"});
  verb.option("-o,--out", options->out,
              "Folder to write to (default: RUN/tensorboard; for wandb RUN, in which its "
              "client makes the folder wandb)")
      .placeholder("DIR");
  verb.option("--server", options->server,
              "Server of MLflow or wandb, for example http://127.0.0.1:5000")
      .placeholder("URL");
  verb.option("--experiment", options->experiment,
              "Name of the experiment or wandb project (default: name of the run's folder)")
      .placeholder("NAME");
  verb.flag("--follow", options->follow,
            "Look for new values every two seconds until nothing runs");
  verb.option("--python", options->python,
              "Interpreter that has the tracker's client (default: QUENCH_PYTHON, else "
              "/usr/bin/python3)")
      .placeholder("PATH");
  verb.does([&context, options] { return export_run(*options, context.python); });
}

}  // namespace quench
