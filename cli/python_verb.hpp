// Verbs that are written in Python: what comes after a record. Finds an interpreter that has what
// the verb imports, and starts a module of the package `quench` in it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/base/process/memory_file.hpp"
#include "core/error.hpp"

namespace quench {

struct PythonVerb {
  std::string module;  // "trackers": that of the package
  std::vector<std::string> arguments = {};
  // What it imports beside the standard library, by the names of import statements.
  std::vector<std::string> packages = {};
  std::string interpreter = {};  // of the option --python: no other is asked
  bool has_python_option = false;
  // It starts programs that are to find this process's variables, PYTHONPATH and LD_LIBRARY_PATH
  // among them: commands of a cluster, which hand them to the tasks.
  bool keeps_environment = false;
};

// No interpreter that is here can run a verb: one line that says what to type.
class NoInterpreter : public Error {
 public:
  using Error::Error;
};

// Runs the verb to its end and returns its exit code. It works in this process's folder, prints
// where this process prints, and gets SIGTERM when this process is asked to stop; then
// Error(CANCELLED) is thrown. `input`, if given, is its standard input.
//
// The interpreter is the first that has the packages: the one that QUENCH_PYTHON names, that of the
// environment at work (VIRTUAL_ENV, CONDA_PREFIX), python3 of PATH, /usr/bin/python3. Throws
// NoInterpreter where none has them.
int run_python(const PythonVerb& verb, const Context& context, MemoryFile* input = nullptr);

// What the verb prints to its standard output. Throws what run_python throws; if the verb fails,
// UsageError for its exit code 2, else Error(FAILED_PRECONDITION), with what it printed to its
// standard error. `input` as for run_python.
std::string python_output(const PythonVerb& verb, const Context& context,
                          MemoryFile* input = nullptr);

}  // namespace quench
