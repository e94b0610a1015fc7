// Runs the built program as its users do: a child process with arguments, an environment of its own
// and JSON out.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/subprocess.hpp"

namespace quench::test {

using Finished = Ended;

// `environment` comes on top of PATH, HOME and a plugin cache inside the build folder; nothing else
// of the test's environment is seen, but the sanitizers' options and QUENCH_ISA. Throws when the
// program cannot be started.
Finished run_quench(const std::vector<std::string>& arguments, const Environment& environment = {},
                    const std::string& input = "");

// The JSON that `arguments` and --json print; fails the calling test when the exit code is not 0.
nlohmann::json quench_json(std::vector<std::string> arguments, const Environment& environment = {});

// Makes a QUENCH_HOME in which the plugins need not be probed again.
void make_home(const std::filesystem::path& folder);

// `quench run` of a manifest with this text, in a folder of its own and without a report.
nlohmann::json run_manifest(const std::string& yaml, std::vector<std::string> arguments = {},
                            const Environment& environment = {});

// The records of one metric, in order: the float model's first.
std::vector<nlohmann::json> records_of(const nlohmann::json& document, const std::string& metric);

// Where the build puts what `--plugin-path` can name.
std::filesystem::path template_plugins();
std::filesystem::path test_plugins();

}  // namespace quench::test
