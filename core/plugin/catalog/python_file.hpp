// Which interpreter runs a Python file, a plugin above all, and what that is started with. Nothing
// here runs anything.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

struct PythonSetup {
  std::filesystem::path package;           // the folder that holds the package `quench`
  std::optional<std::string> interpreter;  // QUENCH_PYTHON: for files that name none
  std::string path = "/usr/bin:/bin";      // PATH: where `python3` is looked for
};

bool is_python_file(const std::filesystem::path& file);

// The package that comes with this program: <folder of the executable>/../share/quench/python.
// Empty if the executable is unknown.
std::filesystem::path own_python(const std::filesystem::path& executable);

// The interpreter of what names none: QUENCH_PYTHON; else python3 of PATH; else /usr/bin/python3.
// A script of that name (pyenv's) comes last: which interpreter it starts may change without a
// trace, and content keys would not know. Links are kept, because an environment of one's own is
// told by them. Throws Error(FAILED_PRECONDITION) where there is no such program or no package for
// it.
std::filesystem::path usual_interpreter(const PythonSetup& setup);

// The interpreter of a file: that of its first line, "#!/absolute/path" or "#!/usr/bin/env NAME";
// else the usual one. Throws like it, and like File.
std::filesystem::path interpreter_of(const std::filesystem::path& file, const PythonSetup& setup);

// The caller's environment, "NAME=value" each, without what changes which libraries a program
// finds.
std::vector<std::string> plain_environment();

// The environment of an interpreter: `base` without what changes which modules are found, with the
// package, and with one thread for libraries that compute, whose number of threads decides the
// bits.
std::vector<std::string> python_environment(const PythonSetup& setup,
                                            std::vector<std::string> base = plain_environment());

// Whether this user may start the file.
bool is_program(const std::filesystem::path& path);

// In the folders of `path`, which colons separate; empty if none has it. Only absolute folders
// count: nothing is started from the working folder.
std::filesystem::path find_program(const std::string& name, std::string_view path);

}  // namespace quench
