#include "cli/python_verb.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "core/base/process/child_process.hpp"
#include "core/plugin/catalog/python_file.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostText = 1 << 20;

// `quench/start.py` and not `-m`, which would find modules in the working folder first.
Command command_for(const fs::path& interpreter, const std::string& module,
                    const std::vector<std::string>& arguments, const Context& context,
                    bool keeps_environment = false) {
  Command command;
  command.words = {interpreter.string()};
  if (keeps_environment) {
    command.words.insert(command.words.end(), {"-E", "-B"});  // Python itself takes nothing from it
  } else {
    command.environment = python_environment(context.python);
  }
  command.words.push_back((context.python.package / "quench/start.py").string());
  command.words.push_back(module);
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.ends_with_starter = true;
  return command;
}

int code_of(const Command& command) {
  ChildProcess child = ChildProcess::start(command);
  const std::atomic<bool>& cancelled = HostServices::instance().cancel_flag();
  while (!child.ends_within(std::chrono::milliseconds(100))) {
    if (cancelled) {
      child.signal(SIGTERM);  // Ctrl-C has reached it by itself; to say it twice does no harm
    }
  }
  const int code = child.wait().code();
  stop_if_asked();
  return code;
}

std::string without_end(std::string text) {
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

// Keeps links, because Python recognizes an environment by them.
std::vector<fs::path> interpreters(const PythonVerb& verb, const Context& context) {
  if (!verb.interpreter.empty()) {
    if (!is_program(verb.interpreter)) {
      throw UsageError(QUENCH_INVALID_ARGUMENT,
                       fmt::format("--python: got {}, wanted the path of a Python interpreter",
                                   printable(verb.interpreter, 400)));
    }
    return {fs::absolute(verb.interpreter)};
  }
  const fs::path usual = [&] {
    try {
      return usual_interpreter(context.python);
    } catch (const Error& nothing) {
      throw NoInterpreter(nothing.code(), nothing.what());
    }
  }();
  std::vector<fs::path> out;
  const auto add = [&](const fs::path& path) {
    if (path.is_absolute() && is_program(path) &&
        std::find(out.begin(), out.end(), path) == out.end()) {
      out.push_back(path);
    }
  };
  add(context.python.interpreter.value_or(""));
  for (const fs::path& environment : context.python_environments) {
    add(environment / "bin/python3");
  }
  add(find_program("python3", context.python.path));
  add(usual);
  add("/usr/bin/python3");
  return out;
}

// What an interpreter lacks of the packages: nothing, or what and how to get it.
struct Lack {
  fs::path interpreter;
  std::string what;
  std::string remedy;
};

std::optional<Lack> lack_of(const fs::path& interpreter, const PythonVerb& verb,
                            const Context& context) {
  const MemoryFile out;
  Command command = command_for(interpreter, "requirements", verb.packages, context);
  command.streams = {ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::copy(STDOUT_FILENO, out.descriptor()),
                     ChildStream::file(STDERR_FILENO, "/dev/null", O_WRONLY)};
  if (code_of(command) == 0) {
    return std::nullopt;
  }
  const std::string said = without_end(out.text(kMostText));
  const size_t end = said.find('\n');
  if (end == std::string::npos) {
    return Lack{interpreter, "runs no Python 3.9 or newer", "install one"};
  }
  return Lack{interpreter, said.substr(0, end), said.substr(end + 1)};
}

fs::path interpreter_for(const PythonVerb& verb, const Context& context) {
  std::vector<Lack> lacks;
  for (const fs::path& interpreter : interpreters(verb, context)) {
    const std::optional<Lack> lack = lack_of(interpreter, verb, context);
    if (!lack) {
      return interpreter;
    }
    lacks.push_back(*lack);
  }
  std::string others;
  for (size_t i = 1; i < lacks.size(); ++i) {
    others += (i == 1 ? " (nor has " : ", ") + printable(lacks[i].interpreter.string(), 400);
  }
  throw NoInterpreter(
      QUENCH_FAILED_PRECONDITION,
      fmt::format("{} {}{}: {}, or name an interpreter that has it with {}",
                  printable(lacks.front().interpreter.string(), 400), lacks.front().what,
                  others.empty() ? "" : others + ")", lacks.front().remedy,
                  verb.has_python_option ? "--python" : "QUENCH_PYTHON"));
}

Command command_of(const PythonVerb& verb, const Context& context) {
  return command_for(interpreter_for(verb, context), verb.module, verb.arguments, context,
                     verb.keeps_environment);
}

}  // namespace

int run_python(const PythonVerb& verb, const Context& context, MemoryFile* input) {
  Command command = command_of(verb, context);
  if (input != nullptr) {
    input->rewind();
    command.streams = {ChildStream::copy(STDIN_FILENO, input->descriptor())};
  }
  return code_of(command);
}

std::string python_output(const PythonVerb& verb, const Context& context, MemoryFile* input) {
  const MemoryFile out;
  const MemoryFile err;
  Command command = command_of(verb, context);
  if (input != nullptr) {
    input->rewind();
  }
  command.streams = {input != nullptr ? ChildStream::copy(STDIN_FILENO, input->descriptor())
                                      : ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::copy(STDOUT_FILENO, out.descriptor()),
                     ChildStream::copy(STDERR_FILENO, err.descriptor())};
  const int code = code_of(command);
  if (code != kExitOk) {
    std::string said = without_end(err.text(kMostText));
    if (said.empty()) {
      said = fmt::format("{}: ended with code {}", verb.module, code);
    }
    if (code == kExitUsage) {
      throw UsageError(QUENCH_INVALID_ARGUMENT, said);
    }
    fail(QUENCH_FAILED_PRECONDITION, "{}", said);
  }
  return out.text();
}

}  // namespace quench
