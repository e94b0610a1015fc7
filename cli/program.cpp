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
#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/io/tensor_memory.hpp"
#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/calls/process_end.hpp"
#include "core/plugin/catalog/shipped_descriptions.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"
#include "core/plugin/worker/confined.hpp"
#include "core/plugin/worker/worker_main.hpp"
#include "core/version.hpp"
#include "run/grid/share_engines.hpp"

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

struct Command {
  const char* name;
  const char* group;  // the heading above it in --help
  const char* help;
  void (*declare)(quench::Verb&, quench::Context&);  // its options and its work
};

// In the order of --help.
constexpr Command kCommands[] = {
    {"init", "Experiments", "Write a first manifest for a folder of checkpoints", quench::add_init},
    {"import", "Experiments", "Convert a config of the study's code into a manifest",
     quench::add_import},
    {"plan", "Experiments", "Show what a manifest would run, and why", quench::add_plan},
    {"fetch", "Experiments", "Download what a manifest needs, or one checkpoint",
     quench::add_fetch},
    {"run", "Experiments", "Run the experiments of a manifest", quench::add_run},
    {"submit", "Experiments", "Send what is left of a run to a Slurm or HTCondor cluster",
     quench::add_submit},
    {"watch", "Experiments", "Measure the checkpoints of a training while it runs",
     quench::add_watch},
    {"status", "Experiments", "Show what is running, what is done and what is left",
     quench::add_status},
    {"why", "Experiments", "Explain why a cell is computed, reused or failed", quench::add_why},
    {"adopt", "Experiments",
     "Keep results after a plugin was rebuilt, if it computes the same values", quench::add_adopt},
    {"results", "Results", "Show or export the records of runs", quench::add_results},
    {"report", "Results", "Draw the figures of a run and evaluate its contrasts",
     quench::add_report},
    {"diff", "Results", "Show the differences between two runs: manifests, then values",
     quench::add_diff},
    {"merge", "Results", "Join the folders of a run that several machines wrote",
     quench::add_merge},
    {"verify", "Results",
     "Check the records of a run, of all that runs share, or files of the Hugging Face cache",
     quench::add_verify},
    {"forget", "Results", "Hide values of a run, so that they are computed again",
     quench::add_forget},
    {"export", "Results", "Send the values of a run to an experiment tracker", quench::add_export},
    {"eval", "One model", "Measure one checkpoint, float and quantized", quench::add_eval},
    {"gate", "One model", "Say whether a quantized model keeps a budget", quench::add_gate},
    {"compare", "One model", "Say how far two models are apart on the same text",
     quench::add_compare},
    {"quantize", "One model", "Quantize one checkpoint and write it for other tools",
     quench::add_quantize},
    {"average", "One model", "Average checkpoints into a new one", quench::add_average},
    {"layer", "One model", "Quantize one linear layer from a safetensors file", quench::add_layer},
    {"logits", "One model", "Write the logits of a checkpoint for some token ids",
     quench::add_logits},
    {"tokenize", "One model",
     "Print the token ids of JSON strings from standard input, one per line", quench::add_tokenize},
    {"plugins", "Installation", "List plugins, and explain why others cannot be used",
     quench::add_plugins},
    {"doctor", "Installation", "Describe this installation and machine", quench::add_doctor},
    {"schema", "Installation", "Print the JSON Schema of manifests, for editors (draft-07)",
     quench::add_schema},
    {"clean", "Installation", "Free shared disk space; without options removes only leftovers",
     quench::add_clean},
    {"completion", "Installation",
     "Print a script that completes verbs and options, or the manual page", quench::add_completion},
};

// What stands below the verbs in --help and on the manual page.
std::vector<std::pair<std::string, std::string>> sections() {
  return {{"Exit codes",
           "  0    all is done\n"
           "  1    something failed; what could be done is done\n"
           "  2    the command line or the manifest is wrong; nothing was done\n"
           "  3    gate: beyond the budget\n"
           "  4    gate: undecided\n"
           "  75   stopped on request (SIGTERM, SIGUSR1); the same command goes on\n"
           "  130  stopped by Ctrl-C; the same command goes on\n"},
          {"Environment",
           "  QUENCH_HOME         what runs share: records, hashes, tokens (default: "
           "~/.cache/quench)\n"
           "  QUENCH_PLUGIN_PATH  folders with further plugins, separated by colons\n"
           "  QUENCH_PYTHON       interpreter of what is in Python: plugins that name none, and "
           "verbs\n"
           "                      such as export; else that of VIRTUAL_ENV or CONDA_PREFIX, "
           "of PATH\n"
           "                      or /usr/bin; verbs look on where it lacks what they import\n"
           "  QUENCH_ISA          portable, avx2 or avx512: the kernels' instruction set; "
           "avx512_bf16\n"
           "                      multiplies bfloat16 faster, rounds otherwise and must be named\n"
           "  HF_HOME, HF_HUB_CACHE  where checkpoints of Hugging Face lie\n"
           "  HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE  for fetch, as for Hugging Face's tools\n"
           "  https_proxy, no_proxy  for fetch\n"
           "  NO_COLOR, TERM=dumb  no colours on a terminal; dumb: nor lines that are "
           "rewritten\n"}};
}

// The verb that alone needs its options, since to declare those of all takes longer than the rest
// of a short command; "": all do, for the manual page.
std::string_view verb_asked_for(int argc, char** argv) {
  const auto word = [&](int i) { return std::string_view(i < argc ? argv[i] : ""); };
  const std::string_view verb = word(1) == "help" ? word(2) : word(1);
  return verb == "completion" ? "" : verb;
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

// Without QUENCH_PYTHON the interpreter is that of the environment at work.
void take_environment(quench::Context& context) {
  for (const std::filesystem::path& environment : context.python_environments) {
    const std::filesystem::path program = environment / "bin/python3";
    if (context.python.interpreter.value_or("").empty() && environment.is_absolute() &&
        quench::is_program(program)) {
      context.python.interpreter = program.string();
    }
  }
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
  context.plugin_environment = {variable("QUENCH_PLUGIN_PATH"), variable("XDG_DATA_HOME"),
                                variable("HOME")};
  context.hub_environment = quench::hub_environment_from_process();
  context.python = {quench::own_python(context.executable), variable("QUENCH_PYTHON"),
                    variable("PATH").value_or("/usr/bin:/bin")};
  context.python_environments = {variable("VIRTUAL_ENV").value_or(""),
                                 variable("CONDA_PREFIX").value_or("")};
  take_environment(context);
  for (const char* name :
       {"HOME", "PATH", "XDG_DATA_HOME", "QUENCH_PLUGIN_PATH", "QUENCH_PYTHON", "QUENCH_ISA",
        "HF_HOME", "HF_ENDPOINT", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"}) {
    if (const auto value = variable(name)) {
      context.installation.emplace_back(name, *value);
    }
  }
  for (const std::string& name : quench::engine_variables()) {
    if (const auto value = variable(name.c_str())) {
      context.engine.emplace(name, *value);
    }
  }
  quench::CommandLine line(
      "quench",
      "quench: measures how training choices affect the quantization error of language models",
      std::string("quench ") + quench::kVersion);
  line.sections(sections());
  context.line = &line;
  const std::string_view asked = verb_asked_for(argc, argv);
  for (const Command& command : kCommands) {
    quench::Verb verb = line.verb(command.name, command.help, command.group);
    if (asked.empty() || asked == command.name) {
      command.declare(verb, context);
    }
  }
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
  if (argc == 2 && std::strcmp(argv[1], "__describe") == 0) {
    return quench::describe_main();
  }
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0) {
    return quench::worker_main({argv + 2, argv + argc});
  }
  if (argc > 1 && std::strcmp(argv[1], "__confined") == 0) {
    return quench::confined_main({argv + 2, argv + argc});
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
  } catch (const std::system_error&) {
    // fmt::print throws this if stdout rejects output; flush_output reports it.
    if (std::ferror(quench::results()) == 0) {
      const quench::Error failure = quench::current_error();
      report_failure(failure.code(), failure.what());
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
