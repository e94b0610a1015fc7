#include "core/plugin/catalog/worker_start.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/plugin/catalog/foreign_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

WorkerCommand worker_command(const fs::path& self, const fs::path& interpreter,
                             const PythonSetup& python, std::vector<std::string> environment) {
  if (interpreter.empty()) {
    return {{self.string(), "__worker"}, std::move(environment), fs::current_path()};
  }
  // `-m` would look for modules in the working folder first.
  return {{interpreter.string(), "-c",
           "import sys; del sys.path[0]; from quench.worker import main; main()"},
          python_environment(python, std::move(environment)),
          fs::current_path()};
}

json worker_sandbox(const fs::path& file, const fs::path& interpreter, const fs::path& self,
                    const std::vector<fs::path>& folders) {
  json box = {{"readable", json::array()}, {"writable", json::array()}};
  if (!interpreter.empty()) {
    box["library"] = interpreter_sandbox(self).string();
    box["readable"].push_back("/");
    return box;
  }
  box["readable"] = {file.parent_path().string(), self.parent_path().parent_path().string()};
  for (const fs::path& folder : folders) {
    box["readable"].push_back(folder.string());
  }
  return box;
}

json worker_hello(const fs::path& file, json sandbox) {
  const HostServices& services = HostServices::instance();
  return {{"format", 1},
          {"abi", fmt::format("{}.{}", QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR)},
          {"description", wire::kDescriptionHash},
          {"module", file.string()},
          {"seed", services.seed()},
          {"threads", services.threads()},
          {"instructions", static_cast<int32_t>(services.instructions())},
          {"sandbox", std::move(sandbox)}};
}

}  // namespace quench
