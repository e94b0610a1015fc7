// quench export RUN: sends the values of a run to an experiment tracker, by the tracker's own
// client, in Python (python/quench/trackers).
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/python_verb.hpp"
#include "cli/run_folder.hpp"

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

std::vector<std::string> words_of(const ExportOptions& options) {
  if (options.to == "mlflow" && options.server.empty()) {  // said before its client is looked for
    throw UsageError(QUENCH_INVALID_ARGUMENT, "--to mlflow: wants --server URL");
  }
  std::vector<std::string> words = {fs::absolute(run_folder(options.run)).string(), "--to",
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

}  // namespace

void add_export(Verb& verb, Context& context) {
  verb.examples({"quench export runs/m --to tensorboard",
                 "quench export runs/m --to mlflow --server http://127.0.0.1:5000 --follow"});
  auto options = std::make_shared<ExportOptions>();
  verb.option("run", options->run, "Folder of the run, or its name below runs/").required();
  verb.option("--to", options->to,
              "tensorboard: event files; mlflow: runs on a server; trackio: its database; wandb: "
              "offline files, or runs on a server")
      .required()
      .one_of({"tensorboard", "mlflow", "trackio", "wandb"});
  verb.option("-o,--out", options->out,
              "Folder to write to (default: RUN/tensorboard; trackio's cache; for wandb RUN, in "
              "which its "
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
              "Interpreter that has the tracker's client (default: the first that has it of "
              "QUENCH_PYTHON, an active environment, PATH and /usr/bin)")
      .placeholder("PATH");
  verb.does([&context, options] {
    return run_python({"trackers", words_of(*options), {options->to}, options->python, true},
                      context);
  });
}

}  // namespace quench
