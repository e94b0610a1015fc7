// The program's entry: reads the environment (nothing else does), selects the subcommand, and turns
// exceptions into one line and an exit code.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <system_error>

#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/io/tensor_memory.hpp"
#include "core/plugin/at_work.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/instruction_set.hpp"
#include "core/plugin/probe.hpp"
#include "core/plugin/process_end.hpp"
#include "core/version.hpp"

namespace {

volatile sig_atomic_t stop_signal = 0;

// The first signal requests a stop; work ends at the next micro-batch. A second Ctrl-C ends the
// process immediately.
extern "C" void on_signal(int number) {
  if (stop_signal != 0 && number == SIGINT) {
    quench::end_process(quench::kExitInterrupted);
  }
  stop_signal = number;
  if (number == SIGINT) {
    quench::say_what_is_waited_for();
  }
  quench::HostServices::instance().cancel_flag() = true;
}

void install_signal_handlers() {
  quench::HostServices::instance();  // constructed here, not in the handler
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {  // nohup or a shell's background job: ignored on purpose
      sigaction(number, &action, nullptr);
    }
  }
  signal(SIGPIPE, SIG_IGN);  // a closed reader is an error of the write, not a death
  signal(SIGXFSZ, SIG_IGN);  // likewise for a file-size limit
}

std::optional<std::string> variable(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// The parser's complaint as one line that points to --help.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "quench" : "quench " + chosen[0]->get_name();
  return fmt::format("{}: {}; see `{} --help`", command, error.what(), command);
}

// "" if the first word is a subcommand or an option.
std::string unknown_command_message(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return "";
  }
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) {
      return "";
    }
    names.push_back(command->get_name());
  }
  const std::string near = quench::nearest(argv[1], names);
  return fmt::format("quench: no subcommand is called {}; {}", quench::printable(argv[1]),
                     near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                  : fmt::format("did you mean {}?", near));
}

int run(int argc, char** argv) {
  quench::HostServices::instance().set_instructions(
      quench::as_usage([] { return quench::choose_instruction_set(variable("QUENCH_ISA")); }));
  quench::Context context;
  std::error_code no_proc;
  context.executable = std::filesystem::read_symlink("/proc/self/exe", no_proc);
  context.arguments = {argv, argv + argc};
  context.home_environment = {variable("QUENCH_HOME"), variable("XDG_CACHE_HOME"),
                              variable("HOME")};
  context.plugin_environment = {variable("QUENCH_PLUGIN_PATH"),
                                variable("QUENCH_PLUGIN_SYSTEM_PATH"), variable("XDG_DATA_HOME"),
                                variable("HOME")};
  context.hub_environment = quench::hub_environment_from_process();
  CLI::App app("quench: measures how training decides what quantization costs a model", "quench");
  app.set_version_flag("--version", std::string("quench ") + quench::kVersion);
  app.require_subcommand(1);
  quench::Action action;
  quench::add_run(app, context, action);
  quench::add_plan(app, context, action);
  quench::add_adopt(app, context, action);
  quench::add_why(app, context, action);
  quench::add_eval(app, context, action);
  quench::add_average(app, context, action);
  quench::add_layer(app, context, action);
  quench::add_quantize(app, context, action);
  quench::add_tokenize(app, context, action);
  quench::add_plugins(app, context, action);
  quench::add_results(app, context, action);
  quench::add_status(app, context, action);
  quench::add_diff(app, context, action);
  quench::add_verify(app, context, action);
  quench::add_forget(app, context, action);
  quench::add_clean(app, context, action);
  quench::add_init(app, context, action);
  quench::add_schema(app, context, action);
  quench::add_doctor(app, context, action);
  quench::add_report(app, action);
  quench::add_export(app, action);
  if (const std::string message = unknown_command_message(app, argc, argv); !message.empty()) {
    throw quench::UsageError(QUENCH_INVALID_ARGUMENT, message);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      return app.exit(error);
    }
    throw quench::UsageError(QUENCH_INVALID_ARGUMENT, usage_message(app, error));
  }
  install_signal_handlers();
  quench::watch_process_end(quench::kExitFailed);
  quench::set_resume_command(context.command_line());
  const int code = action();
  quench::shutdown_plugins();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  quench::guard_standard_streams();
  quench::tune_allocators();
  if (argc > 1 && std::strcmp(argv[1], "__probe") == 0) {
    return quench::probe_main({argv + 2, argv + argc});
  }
  int code = quench::kExitFailed;
  try {
    code = run(argc, argv);
  } catch (const quench::UsageError& error) {
    quench::print_error(error.what());
    code = quench::kExitUsage;
  } catch (const quench::Error& error) {
    quench::print_error(error.what());
    if (error.code() == QUENCH_CANCELLED && stop_signal != 0) {
      code = stop_signal == SIGINT ? quench::kExitInterrupted : quench::kExitResumable;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    quench::print_error(quench::path_message(error));
  } catch (const std::system_error& error) {
    // fmt::print throws this if stdout rejects output; flush_output reports it.
    if (std::ferror(quench::results()) == 0) {
      quench::print_error(std::string("internal error: ") + error.what());
    }
  } catch (const std::exception& error) {
    quench::print_error(std::string("internal error: ") + error.what());
  }
  // Output that did not reach the disk or the pipe is lost data.
  if (!quench::flush_output() && code == quench::kExitOk) {
    code = quench::kExitFailed;
  }
  quench::expect_process_end(code);
  return code;
}
