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

// What runs a file that is no library: the interpreter of one in Python (python_file.hpp), which
// can be relied upon where it is to be confined, or the program that NAME.worker registers; "" of a
// library. Throws as interpreter_of, require_confinable and read_worker_file.
std::filesystem::path interpreter_for(const std::filesystem::path& file, const PythonSetup& python,
                                      bool confined);

// The program that serves a file: what interpreter_for says, else this one. `environment`: of
// foreign_code.hpp. `sandbox`: of worker_sandbox, which a registered program is put into before it
// starts; null: none.
WorkerCommand worker_command(const std::filesystem::path& file, const std::filesystem::path& self,
                             const std::filesystem::path& interpreter, const PythonSetup& python,
                             std::vector<std::string> environment, const nlohmann::json& sandbox);

// What the process is confined to before it loads the file (docs/worker.md): what a library
// reads are its folder, the program's, and `folders`; an interpreter adds where it has its modules.
// "/" is all but what /proc says of other processes.
nlohmann::json worker_sandbox(const std::filesystem::path& file,
                              const std::filesystem::path& interpreter,
                              const std::filesystem::path& self,
                              const std::vector<std::filesystem::path>& folders);

// The first words to a process that holds the file.
nlohmann::json worker_hello(const std::filesystem::path& file, nlohmann::json sandbox);

}  // namespace quench
