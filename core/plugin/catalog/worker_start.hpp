// How a process that holds a plugin is started, and what it is told first: the same whether it is
// only to say what the plugin is, or to serve it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/catalog/python_file.hpp"
#include "core/plugin/process/worker_process.hpp"

namespace quench {

// The program that serves a file: an interpreter of its own for one in Python, else this one.
// `environment`: of foreign_code.hpp.
WorkerCommand worker_command(const std::filesystem::path& self,
                             const std::filesystem::path& interpreter, const PythonSetup& python,
                             std::vector<std::string> environment);

// What the process confines itself to before it loads the file (docs/worker.md): what a library
// reads are its folder, the program's, and `folders`. An interpreter reads all, since what a file
// imports is not known before.
nlohmann::json worker_sandbox(const std::filesystem::path& file,
                              const std::filesystem::path& interpreter,
                              const std::filesystem::path& self,
                              const std::vector<std::filesystem::path>& folders);

// The first words to a process that holds the file.
nlohmann::json worker_hello(const std::filesystem::path& file, nlohmann::json sandbox);

}  // namespace quench
