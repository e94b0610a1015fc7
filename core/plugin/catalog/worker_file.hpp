// NAME.worker: registers a program of another language that speaks what docs/worker.md says.
//
//   {"program": "bin/my_worker", "arguments": ["--quiet"]}
//
// The program is a path, absolute or from the file's folder, which is also where it is started.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

struct WorkerFile {
  std::filesystem::path program;  // absolute
  std::vector<std::string> arguments;
  // Programs that the system starts for it: itself, and what the first line of a script names.
  std::vector<std::filesystem::path> started;
  // All that its values depend on: `started`, and the files that arguments name.
  std::vector<std::filesystem::path> files;
};

bool is_worker_file(const std::filesystem::path& file);

// Throws Error: DATA_LOSS for a file that says something else, FAILED_PRECONDITION where there is
// no such program, and what File throws.
WorkerFile read_worker_file(const std::filesystem::path& file);

// The code of a worker for content keys: the file's own hash, and those of its files by name.
nlohmann::json code_of_worker(const std::filesystem::path& file, const std::string& sha256);

// The files behind that code, by path, with their hashes; without `file` itself.
std::map<std::string, std::string> files_of_worker(const nlohmann::json& code,
                                                   const std::filesystem::path& file);

}  // namespace quench
