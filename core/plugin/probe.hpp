// First contact with a library, in a child process: `quench __probe FILE` loads it, asks it what it
// offers and reports on descriptor 3. What the library's own constructors print, or how they end
// the process, does the parent no harm. A Python file is read by `INTERPRETER -m quench.describe
// FILE`, which runs nothing of it and reports on its standard output. Both confine themselves
// before they look at what did not come with the program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/description.hpp"
#include "core/plugin/python_file.hpp"

namespace quench {

struct CatalogOptions;

// The child's side: `arguments` are what follows `__probe`: [--confined] [--create] LIBRARY.
// Returns the exit code.
int probe_main(std::vector<std::string> arguments);

// What the parent learnt.
struct ProbeResult {
  std::string rejected;                  // why the library is of no use, or ""
  bool timed_out = false;                // so: rejected, but a quieter machine may find otherwise
  bool passing = false;                  // so: for want of memory, files or another library, say
  nlohmann::json surroundings;           // of a Python file, as quench.describe says; else null
  std::vector<LinkedLibrary> watched;    // of a Python file: what else the answer depends on
  std::vector<PluginDescription> items;  // with library, module fields and links; sha256 not set
  std::vector<std::string> findings;     // remarks for `plugins check`
};

// What one answer means: what describe_library gives, or {"rejected": why}.
ProbeResult result_of(const nlohmann::json& in, const std::filesystem::path& library);

struct ProbeOptions {
  std::filesystem::path self;  // the quench executable
  double seconds = 10;         // time limit of one child
  bool create = false;         // also create and destroy every item with its default parameters,
                               // but none of a Python file
  PythonSetup python = {};
  bool confined = true;  // strangers' code (core/plugin/sandbox)
};

ProbeOptions probe_options(const CatalogOptions& options, bool create = false);

// Probes every library, at most two at a time; results in the order of `libraries`. Throws
// Error(FAILED_PRECONDITION) only when no child can be started at all; an interpreter that cannot
// be run is its file's fault.
std::vector<ProbeResult> probe_libraries(const std::vector<std::filesystem::path>& libraries,
                                         const ProbeOptions& options);

}  // namespace quench
