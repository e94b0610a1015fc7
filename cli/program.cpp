#include "cli/program.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#include "cli/answer.hpp"
#include "cli/colours.hpp"
#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/apart/worker_main.hpp"
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

// A stop is no fault: "corpus text: stopped on request" would blame what was at work.
std::string without_place(const std::string& message) {
  constexpr std::string_view kStopped = "stopped on request";
  return message.ends_with(kStopped) ? std::string(kStopped) : message;
}

bool asks_for_json(int argc, char** argv) {
  return std::any_of(argv + std::min(argc, 1), argv + argc,
                     [](const char* word) { return std::strcmp(word, "--json") == 0; });
}

// The work of the verb. The answer of --json names it, also if the rest of the line is wrong.
std::function<int()> parse(quench::CommandLine& line, int argc, char** argv) {
  try {
    std::function<int()> work = line.parse(argc, argv);
    quench::name_answer(line.chosen_verb());
    if (line.asked_for_help()) {
      quench::drop_answer();
    }
    return work;
  } catch (...) {
    quench::name_answer(line.chosen_verb());
    throw;
  }
}

// The verb whose options may be asked for; nothing: those of all, for the manual page.
std::optional<std::string> verb_named(int argc, char** argv) {
  const auto word = [&](int i) { return std::string(i < argc ? argv[i] : ""); };
  const std::string verb = word(1) == "help" ? word(2) : word(1);
  return verb == "completion" ? std::nullopt : std::optional(verb);
}

void report_failure(quench_status code, const std::string& message) {
  quench::print_error(message);
  quench::answer_error(code, message);
}

// For as long as no progress is shown, which shows them with it.
void show_warnings() {
  quench::HostServices::instance().set_log_sink(
      [](int level, std::string_view, std::string_view line) {
        if (level >= QUENCH_LOG_WARNING) {
          quench::print_warning(fmt::format("warning: {}", line));
        }
      });
}

int run(int argc, char** argv) {
  show_warnings();
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
  context.python = {quench::own_python(context.executable), variable("QUENCH_PYTHON"),
                    variable("PATH").value_or("/usr/bin:/bin")};
  context.python_environments = {variable("VIRTUAL_ENV").value_or(""),
                                 variable("CONDA_PREFIX").value_or("")};
  for (const char* name :
       {"HOME", "PATH", "XDG_DATA_HOME", "QUENCH_PLUGIN_PATH", "QUENCH_PLUGIN_SYSTEM_PATH",
        "QUENCH_PYTHON", "QUENCH_ISA", "HF_HOME", "HF_ENDPOINT"}) {
    if (const auto value = variable(name)) {
      context.installation.emplace_back(name, *value);
    }
  }
  quench::CommandLine line("quench",
                           "quench: measures how training decides what quantization costs a model",
                           std::string("quench ") + quench::kVersion, verb_named(argc, argv));
  quench::add_init(line, context);
  quench::add_import(line, context);
  quench::add_plan(line, context);
  quench::add_fetch(line, context);
  quench::add_run(line, context);
  quench::add_submit(line, context);
  quench::add_status(line);
  quench::add_why(line, context);
  quench::add_adopt(line, context);
  quench::add_results(line, context);
  quench::add_report(line);
  quench::add_diff(line, context);
  quench::add_merge(line);
  quench::add_verify(line, context);
  quench::add_forget(line, context);
  quench::add_export(line, context);
  quench::add_eval(line, context);
  quench::add_quantize(line, context);
  quench::add_average(line, context);
  quench::add_layer(line, context);
  quench::add_tokenize(line, context);
  quench::add_plugins(line, context);
  quench::add_doctor(line, context);
  quench::add_schema(line, context);
  quench::add_clean(line, context);
  quench::add_completion(line);
  quench::add_sections(line);
  const std::function<int()> work = parse(line, argc, argv);
  install_signal_handlers();
  quench::watch_process_end(quench::kExitFailed);
  quench::set_resume_command(context.command_line());
  const int code = work();
  quench::shutdown_plugins();
  return code;
}

}  // namespace

int quench::program_main(int argc, char** argv) {
  quench::guard_standard_streams();
  quench::tune_allocators();
  if (argc > 1 && std::strcmp(argv[1], "__probe") == 0) {
    return quench::probe_main({argv + 2, argv + argc});
  }
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0) {
    return quench::worker_main({argv + 2, argv + argc});
  }
  int code = quench::kExitFailed;
  try {
    if (asks_for_json(argc, argv)) {
      quench::begin_answer();
    }
    quench::choose_colours(variable("NO_COLOR"), variable("TERM"));
    code = run(argc, argv);
  } catch (const quench::UsageError& error) {
    report_failure(error.code(), error.what());
    code = quench::kExitUsage;
  } catch (const quench::Error& error) {
    const bool stopped = error.code() == QUENCH_CANCELLED && stop_signal != 0;
    report_failure(error.code(), stopped ? without_place(error.what()) : error.what());
    if (stopped) {
      code = stop_signal == SIGINT ? quench::kExitInterrupted : quench::kExitResumable;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    report_failure(QUENCH_FAILED_PRECONDITION, quench::path_message(error));
  } catch (const std::system_error& error) {
    // fmt::print throws this if stdout rejects output; flush_output reports it.
    if (std::ferror(quench::results()) == 0) {
      report_failure(QUENCH_INTERNAL, std::string("internal error: ") + error.what());
    } else if (quench::reader_is_gone()) {
      code = quench::kExitOk;
    }
  } catch (const std::exception& error) {
    report_failure(QUENCH_INTERNAL, std::string("internal error: ") + error.what());
  }
  quench::end_answer(code);
  // Output that did not reach the disk or the pipe is lost data.
  if (!quench::flush_output() && code == quench::kExitOk) {
    code = quench::kExitFailed;
  }
  quench::expect_process_end(code);
  return code;
}
