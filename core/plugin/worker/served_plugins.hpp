// Plugins that run in processes of their own: their items, as the rest of the host sees them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/plugin/catalog/description.hpp"
#include "core/plugin/catalog/python_file.hpp"
#include "core/plugin/worker/worker_peer.hpp"
#include "quench/abi/module.h"

namespace quench {

struct WorkerOptions {
  std::filesystem::path self;  // the quench executable, which serves as `quench __worker`
  bool sandbox = true;         // all that the kernel offers
  WorkerLimits limits;
  int crashes = 3;              // of one module, after which it is not started again
  std::set<std::string> debug;  // ids of plugins whose process waits for a debugger
  PythonSetup python = {};
};

class ServedPlugins {
 public:
  explicit ServedPlugins(WorkerOptions options);
  ~ServedPlugins();

  // The item, whose table calls a worker. The worker is started here, and again by the first call
  // that makes an instance after it has crashed. Valid as long as this object. Throws Error.
  const quench_item& load(const PluginDescription& description);

  // How often the process of this plugin was started, and one more once it has ended: an instance
  // that was made under another number is gone.
  uint64_t starts(const PluginDescription& description);
  // Its process; nothing where it has none.
  std::optional<pid_t> process(const PluginDescription& description);
  // What each process that was started so far is: {"plugin": "quantizer hqq", "module": file,
  // "sandbox": what confines it, "libraries": [{"soname", "path", "build_id"}]}, and of one that
  // still runs "peak_memory_bytes". [thread-safe]
  nlohmann::json processes() const;

 private:
  class Module;
  Module& module_of(const PluginDescription& description);

  void note(nlohmann::json process);

  WorkerOptions options_;
  mutable std::mutex mutex_;
  nlohmann::json processes_ = nlohmann::json::array();
  std::map<std::filesystem::path, std::unique_ptr<Module>> modules_;
};

}  // namespace quench
