#include "core/plugin/catalog/worker_start.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/plugin/catalog/foreign_code.hpp"
#include "core/plugin/catalog/worker_file.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// All that this user may read, without what /proc says of other processes. A rule allows a folder
// with all that is in it, so "/" is its entries.
std::vector<std::string> all_but_processes() {
  std::vector<std::string> out;
  std::error_code unreadable;
  for (fs::directory_iterator entry("/", unreadable), end; !unreadable && entry != end;
       entry.increment(unreadable)) {
    std::error_code dangling;
    if (entry->path() != "/proc" && entry->exists(dangling)) {
      out.push_back(entry->path().string());
    }
  }
  return out;
}

}  // namespace

fs::path interpreter_for(const fs::path& file, const PythonSetup& python, bool confined) {
  if (is_worker_file(file)) {
    return read_worker_file(file).program;
  }
  if (!is_python_file(file)) {
    return {};
  }
  fs::path interpreter = interpreter_of(file, python);
  if (confined) {
    require_confinable(interpreter, file, python);
  }
  return interpreter;
}

WorkerCommand worker_command(const fs::path& file, const fs::path& self,
                             const fs::path& interpreter, const PythonSetup& python,
                             std::vector<std::string> environment, const json& sandbox) {
  if (is_worker_file(file)) {
    const WorkerFile said = read_worker_file(file);
    std::vector<std::string> words = {said.program.string()};
    words.insert(words.end(), said.arguments.begin(), said.arguments.end());
    if (!sandbox.is_null()) {
      words.insert(words.begin(), {self.string(), "__confined", sandbox.dump()});
    }
    return {std::move(words), std::move(environment), file.parent_path()};
  }
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
  if (is_worker_file(file)) {
    box["executable"] = json::array();
    for (const fs::path& program : read_worker_file(file).started) {
      box["executable"].push_back(program.string());
    }
  } else if (!interpreter.empty()) {
    box["library"] = interpreter_sandbox(self).string();
  }
  box["readable"] = {file.parent_path().string(), self.parent_path().parent_path().string()};
  for (const fs::path& folder : folders) {
    for (const std::string& each :
         folder == "/" ? all_but_processes() : std::vector{folder.string()}) {
      box["readable"].push_back(each);
    }
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
          // A registered program is confined already.
          {"sandbox", is_worker_file(file) ? json() : std::move(sandbox)}};
}

}  // namespace quench
