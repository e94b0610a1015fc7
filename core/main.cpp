// The command line's entry: reads the environment (nothing else does), picks the subcommand, turns
// exceptions into one line and an exit code.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/cli/command.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/probe.hpp"
#include "core/version.hpp"

namespace {

volatile sig_atomic_t stop_signal = 0;

// The first signal asks for a stop; work ends at the next micro-batch. A second Ctrl-C ends at
// once.
extern "C" void on_signal(int number) {
  if (stop_signal != 0 && number == SIGINT) {
    _exit(quench::kExitInterrupted);
  }
  stop_signal = number;
  quench::HostServices::instance().cancel_flag() = true;
}

void install_signal_handlers() {
  quench::HostServices::instance();  // made here, not in the handler
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    sigaction(number, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of the write, not a death
}

std::optional<std::string> variable(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::filesystem::path cache_dir() {
  if (const auto home = variable("QUENCH_HOME")) {
    return *home;
  }
  if (const auto cache = variable("XDG_CACHE_HOME"); cache && !cache->empty()) {
    return std::filesystem::path(*cache) / "quench";
  }
  return std::filesystem::path(variable("HOME").value_or("/tmp")) / ".cache" / "quench";
}

int stopped_code() {
  return stop_signal == SIGINT ? quench::kExitInterrupted : quench::kExitResumable;
}

int run(int argc, char** argv) {
  quench::Context context;
  std::error_code no_proc;
  context.executable = std::filesystem::read_symlink("/proc/self/exe", no_proc);
  context.cache_dir = cache_dir();
  context.plugin_environment = {variable("QUENCH_PLUGIN_PATH"),
                                variable("QUENCH_PLUGIN_SYSTEM_PATH"), variable("XDG_DATA_HOME"),
                                variable("HOME")};
  context.hub = quench::hub_environment_from_process();
  CLI::App app("quench: what does the way a model was trained decide about quantization's cost?",
               "quench");
  app.set_version_flag("--version", std::string("quench ") + quench::kVersion);
  app.require_subcommand(1);
  quench::Action action;
  quench::add_run(app, context, action);
  quench::add_plan(app, context, action);
  quench::add_eval(app, context, action);
  quench::add_layer(app, context, action);
  quench::add_tokenize(app, context, action);
  quench::add_plugins(app, context, action);
  quench::add_doctor(app, context, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? quench::kExitOk : quench::kExitUsage;
  }
  install_signal_handlers();
  const int code = action();
  quench::shutdown_plugins();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "__probe") == 0) {
    return quench::probe_main({argv + 2, argv + argc});
  }
  int code = quench::kExitFailed;
  try {
    code = run(argc, argv);
  } catch (const quench::UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = quench::kExitUsage;
  } catch (const quench::Error& error) {
    if (error.code() == QUENCH_CANCELLED) {
      fmt::print(stderr, "stopped on request; finished records are kept\n");
      return stopped_code();
    }
    fmt::print(stderr, "{}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
  }
  // Output that did not reach the disk or the pipe is data lost.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "standard output: write failed: {}\n", std::strerror(errno));
    code = code == quench::kExitOk ? quench::kExitFailed : code;
  }
  return code;
}
