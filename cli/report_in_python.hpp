// The report of a run, which is in Python (python/quench/report): what the program starts of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/python_verb.hpp"
#include "run/manifest/report_check.hpp"

namespace quench {

// The verb that reports on a run, with these options; `draws`: whether it needs matplotlib.
PythonVerb report_verb(const std::filesystem::path& run, std::vector<std::string> options,
                       bool draws, const Context& context);

// Writes the page into the run's folder; returns the first findings and where the page is, a line
// each. Throws what python_output throws.
std::string written_report(const std::filesystem::path& run, const Context& context);

// Asks the report about manifests. Where no Python can be asked, warns in one line and answers
// null.
AskReport report_in_python(const Context& context);

}  // namespace quench
