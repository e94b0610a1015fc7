// Code that did not come with the program: what its processes get, and how they are confined.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// Whether a library or Python file, given by its real path, lies outside the program's own plugins.
bool is_foreign(const std::filesystem::path& file, const std::filesystem::path& executable);

// Of the caller's environment, "NAME=value" each, what processes of plugins get: variables of a
// list, which names no secret, and none that changes which libraries a program finds.
std::vector<std::string> foreign_environment();

// The same with what changes which libraries are found: a library that is probed may be loaded into
// this process later and must find the same there.
std::vector<std::string> probe_environment();

// The library by which an interpreter confines itself: python/quench/confine.py.
std::filesystem::path interpreter_sandbox(const std::filesystem::path& executable);

}  // namespace quench
