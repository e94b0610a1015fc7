#include "tests/support/faults.hpp"

#include <sstream>

#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

FaultedRun run_under_faults(const std::vector<std::string>& command, const FaultPlan& plan,
                            std::map<std::string, std::string> environment,
                            const std::filesystem::path& folder) {
  const TemporaryDir own;
  const std::filesystem::path log = own.write("log", "");
  environment["LD_PRELOAD"] = (binary_dir() / "tests/libquench_faults.so").string();
  environment["QUENCH_FAULT_LOG"] = log.string();
  if (plan.at > 0) {
    environment["QUENCH_FAULT_AT"] = std::to_string(plan.at);
    environment["QUENCH_FAULT"] = plan.fault;
  }
  if (plan.from) {
    environment["QUENCH_FAULT_FROM"] = "1";
  }
  if (plan.children) {
    environment["QUENCH_FAULT_COUNTER"] = (own / "counter").string();
  }
  for (const auto& [name, value] : {std::pair("QUENCH_FAULT_CALLS", plan.calls),
                                    {"QUENCH_FAULT_UNDER", plan.under},
                                    {"QUENCH_FAULT_DROP", plan.drop}}) {
    if (!value.empty()) {
      environment[name] = value;
    }
  }
  // The library is in front of the sanitizer's, which would otherwise refuse to start.
  std::string& asan = environment["ASAN_OPTIONS"];
  asan += (asan.empty() ? "" : ":") + std::string("verify_asan_link_order=0");
  FaultedRun out;
  out.ended = run_program(command, environment, folder);
  std::istringstream lines(read_file(log));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number;
    std::string pid;
    WriteCall call;
    words >> number >> pid >> call.name;
    std::getline(words >> std::ws, call.path, '\t');
    std::getline(words, call.from);
    out.calls.push_back(std::move(call));
  }
  return out;
}

}  // namespace quench::test
