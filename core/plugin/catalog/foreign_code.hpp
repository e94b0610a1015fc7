// Code that did not come with the program: what its processes get, and which interpreters can be
// relied upon to confine themselves (core/plugin/sandbox) before they run it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/python_file.hpp"

namespace quench {

// Whether a library or Python file, given by its real path, did not come with the program.
bool is_foreign(const std::filesystem::path& file, const std::filesystem::path& executable);

// Of the caller's environment, "NAME=value" each, what processes of plugins get: variables of a
// list, which names no secret, and none that puts code into a program. What was found by
// LD_LIBRARY_PATH is in the records (`libraries` of a process).
std::vector<std::string> foreign_environment();

// The same with LD_PRELOAD and its like: a library that is probed may be loaded into this process
// later and must find the same there.
std::vector<std::string> probe_environment();

// Where LD_LIBRARY_PATH leads: what is there comes before all that a library says itself.
std::vector<std::filesystem::path> loader_folders();

// Those of them that a confined process may read: none in which the user's home lies, which would
// show it all of that. A run warns once of what it leaves out.
std::vector<std::filesystem::path> readable_loader_folders();

// The library by which an interpreter confines itself: python/quench/confine.py.
std::filesystem::path interpreter_sandbox(const std::filesystem::path& executable);

// Whether a program is CPython itself, whose version says what it computes.
bool is_cpython(const std::filesystem::path& program);

// Throws Error(FAILED_PRECONDITION) unless `interpreter`, which interpreter_of says of `file`, runs
// the package that confines it before it runs anything else: the user has chosen it (QUENCH_PYTHON,
// or a python of PATH), or the file's first line alone names it and it is CPython itself, and
// neither it nor a link to it lies beneath the file's own folder.
void require_confinable(const std::filesystem::path& interpreter, const std::filesystem::path& file,
                        const PythonSetup& setup);

}  // namespace quench
