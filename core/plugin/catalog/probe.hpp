// First contact with a library or a Python file: a worker is asked what it is, and ends. What the
// library's own constructors print, or how they end the process, does this one no harm; what did
// not come with the program is confined before it runs. Of a Python file the text is read, and
// nothing of it runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"

namespace quench {

struct CatalogOptions;

// What was learnt.
struct ProbeResult {
  std::string rejected;                  // why the library is of no use, or ""
  bool timed_out = false;                // so: rejected, but a quieter machine may find otherwise
  bool passing = false;                  // so: for want of memory, files or another library, say
  nlohmann::json surroundings;           // of a Python file, as the package says; else null
  std::vector<LinkedLibrary> watched;    // of a Python file: what else the answer depends on
  std::vector<PluginDescription> items;  // with library, module fields and links; sha256 not set
};

// What an answer means: what describe_library or the Python package gives, or {"rejected": why}.
ProbeResult result_of(const nlohmann::json& in, const std::filesystem::path& library);

// Asks a worker about every library, two at a time; results in the order of `libraries`. A worker
// that cannot be started rejects its library for now.
std::vector<ProbeResult> probe_libraries(const std::vector<std::filesystem::path>& libraries,
                                         const CatalogOptions& options);

}  // namespace quench
