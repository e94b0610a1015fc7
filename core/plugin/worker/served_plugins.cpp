#include "core/plugin/worker/served_plugins.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/base/io/new_folder.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/foreign_code.hpp"
#include "core/plugin/catalog/worker_file.hpp"
#include "core/plugin/catalog/worker_start.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/library/provided_torch.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/sandbox/sandbox.hpp"
#include "core/plugin/services/device_copies.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/opened_inputs.hpp"
#include "core/plugin/services/task_arena.hpp"
#include "core/plugin/wire/copy.hpp"
#include "core/plugin/wire/crossing.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Where a worker may write: the temporary folder beside this, which goes with the host, also with
// one that is killed.
fs::path scratch_place() {
  const char* set = std::getenv("TMPDIR");
  return fs::path(set != nullptr && *set != '\0' ? set : "/tmp") / "quench-worker";
}

// With a folder of its own for what it writes.
std::vector<std::string> worker_environment(const fs::path& scratch) {
  std::vector<std::string> out = foreign_environment();
  std::erase_if(out, [](const std::string& entry) {
    return entry.starts_with("TMPDIR=") || entry.starts_with("XDG_CACHE_HOME=");
  });
  out.push_back("TMPDIR=" + scratch.string());
  out.push_back("XDG_CACHE_HOME=" + scratch.string());
  return out;
}

// Once in a run: what this kernel does not enforce of the sandbox that was asked for.
void warn_if_open(const json& box) {
  static std::once_flag once;
  const SandboxAbilities offered = sandbox_abilities();
  if (!box.is_null() && !offered.is_whole) {
    std::call_once(once, [&] {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("plugins in processes of their own are confined in part: {}", offered.text));
    });
  }
}

// Files that a user names in parameters are opened by the plugin itself; which they will be is not
// known when its process starts.
bool reads_paths(const PluginDescription& description) {
  return std::any_of(
      description.parameters.begin(), description.parameters.end(),
      [](const ParameterSchema& parameter) { return parameter.type == QUENCH_PARAMETER_PATH; });
}

std::optional<uint64_t> peak_memory_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string word; status >> word;) {
    uint64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) {
      return kibibytes << 10;
    }
  }
  return std::nullopt;
}

// A computing library whose build is not the one that was probed gives other values than the
// records would say.
void require_links(const PluginDescription& description, const json& mapped) {
  for (const LinkedLibrary& wanted : description.links) {
    for (const json& found : mapped) {
      if (found.value("soname", "") == wanted.soname &&
          found.value("build_id", "") != wanted.build_id) {
        fail(QUENCH_FAILED_PRECONDITION,
             "{}: its process runs {} from {} (build {}), and the one that was probed is {} (build "
             "{}); `quench plugins rescan` probes it again",
             plugin_label(description), wanted.soname, found.value("path", ""),
             found.value("build_id", "").substr(0, 12), wanted.path.string(),
             wanted.build_id.substr(0, 12));
      }
    }
  }
}

}  // namespace

class ServedPlugins::Module {
 public:
  Module(ServedPlugins& of, const PluginDescription& description)
      : of_(of), options_(of.options_), description_(description) {}
  // The worker, started where there is none.
  std::shared_ptr<WorkerPeer> peer() {
    const std::lock_guard lock(mutex_);
    if (peer_ != nullptr && peer_->fate() == WorkerFate::kAlive) {
      return peer_;
    }
    if (peer_ != nullptr && peer_->fate() == WorkerFate::kFault) {
      ++crashes_;
    }
    peer_.reset();
    if (crashes_ >= options_.crashes) {
      fail(QUENCH_INTERNAL,
           "its process has ended {} times by its own fault and is not started again in this run",
           crashes_);
    }
    try {
      peer_ = start();
    } catch (const Error& failure) {
      crashes_ += failure.code() == QUENCH_INTERNAL ? 1 : 0;  // it died while it started
      throw;
    }
    ++starts_;
    return peer_;
  }

  const quench_item& item(const PluginDescription& description) {
    const std::shared_ptr<WorkerPeer> worker = peer();
    const std::lock_guard lock(mutex_);
    const std::string key = description.kind + "/" + description.id;
    std::unique_ptr<Item>& item = items_[key];
    if (item == nullptr) {
      item = make_item(description, *worker);
    }
    return item->item;
  }

  std::optional<pid_t> process() {
    const std::lock_guard lock(mutex_);
    return peer_ == nullptr ? std::nullopt : std::optional(peer_->id());
  }

  // The most that the process held so far; nothing of one that has ended.
  std::optional<uint64_t> peak_memory() {
    const std::lock_guard lock(mutex_);
    return peer_ == nullptr || peer_->fate() != WorkerFate::kAlive ? std::nullopt
                                                                   : peak_memory_of(peer_->id());
  }

  uint64_t starts() {
    const std::lock_guard lock(mutex_);
    return peer_ != nullptr && peer_->fate() == WorkerFate::kAlive ? starts_ : starts_ + 1;
  }

 private:
  // One item: what the C tables need to live as long as the program uses them.
  struct Item final : wire::RemoteItem {
    explicit Item(Module& of) : module(of) {}
    std::shared_ptr<wire::Peer> peer() override { return module.peer(); }

    Module& module;
    std::string kind;
    std::string id;
    std::string version;
    std::string summary;
    wire::Keep keep;
    quench_item item{};
  };

  // Besides its own folder.
  std::vector<fs::path> readable() const {
    std::vector<fs::path> out = readable_loader_folders();
    if (reads_paths(description_)) {
      out.emplace_back("/");
    }
    if (description_.interpreter.empty()) {
      const std::vector<fs::path> provided = provided_folders(description_.library);
      out.insert(out.end(), provided.begin(), provided.end());
    }
    for (const LinkedLibrary& link : description_.links) {
      out.push_back(link.path.parent_path());
    }
    for (const auto& [file, sha256] : description_.declared) {
      if (std::error_code error; fs::exists(file, error)) {
        out.emplace_back(file);
      }
    }
    return out;
  }

  // What the host opens for the plugin is what its sandbox lets it read, and what its key says.
  void hold_inputs(const json& box) const {
    OpenedInputs& inputs = OpenedInputs::instance();
    if (!box.is_null()) {
      std::vector<fs::path> folders;
      for (const json& folder : box.at("readable")) {
        folders.emplace_back(folder.get<std::string>());
      }
      inputs.allow(description_.module_id, folders,
                   description_.interpreter.empty() ? OpenedInputs::Notes::kAllowed
                                                    : OpenedInputs::Notes::kAll);
    }
    for (const auto& [file, sha256] : description_.declared) {
      inputs.expect(description_.module_id, file, sha256);
    }
  }

  void require_probed(const File& file, const std::string& then) const {
    if (const std::string now = sha256_of(file); now != then) {
      fail(QUENCH_DATA_LOSS,
           "{}: {} is not the file that was probed (sha256 {} then, {} now); run the command again",
           plugin_label(description_), file.path().string(), then.substr(0, 12), now.substr(0, 12));
    }
  }

  std::shared_ptr<WorkerPeer> start() {
    const fs::path& library = description_.library;
    const File file(library);
    require_probed(file, description_.sha256);
    if (is_worker_file(library)) {  // what it names starts before anything could look at it
      for (const auto& [path, sha256] : description_.declared) {
        require_probed(File(path), sha256);
      }
    }
    HostServices& services = HostServices::instance();
    json box;
    if (options_.sandbox) {
      box = worker_sandbox(library, description_.interpreter, options_.self, readable());
      box["writable"].push_back(scratch_.temporary().string());
    }
    warn_if_open(box);
    hold_inputs(box);
    prepare_libraries();
    WorkerSetup setup;
    setup.command = worker_command(library, options_.self, description_.interpreter,
                                   options_.python, worker_environment(scratch_.temporary()), box);
    setup.command.on_line = [module = description_.module_id](std::string_view line) {
      HostServices::instance().log(QUENCH_LOG_DEBUG, module, fmt::format("printed: {}", line));
    };
    setup.hello = worker_hello(library, box);
    setup.label = plugin_label(description_);
    setup.host = services.host_for(description_.module_id);
    setup.cancelled = [&services] { return services.cancel_flag().load(); };
    setup.limits = options_.limits;
    setup.scratch = scratch_.temporary();
    if (options_.debug.contains(description_.id)) {
      setup.hello["debug"] = true;
      setup.start_seconds = 0;
      setup.limits = {0, 0, 0, 0, 0};
    }
    std::shared_ptr<WorkerPeer> worker = WorkerPeer::start(setup);
    // Its linker opened the file by name; it must still be the file that was hashed.
    if (File(library).identity() != file.identity()) {
      fail(QUENCH_DATA_LOSS, "{}: {}: was replaced while it was loaded", plugin_label(description_),
           library.string());
    }
    if (description_.interpreter.empty()) {  // an interpreter has read its file to the end
      note_running_code(plugin_label(description_), file, description_.sha256);
    }
    const json libraries = worker->ready().value("libraries", json::array());
    require_links(description_, libraries);
    of_.note({{"plugin", plugin_label(description_)},
              {"module", library.string()},
              {"sandbox", box.is_null() ? "off" : sandbox_abilities().text},  // not its own word
              {"libraries", libraries}});
    return worker;
  }

  std::unique_ptr<Item> make_item(const PluginDescription& description, WorkerPeer& worker) {
    const wire::TableType* type = wire::table_of_kind(description.kind);
    const json items = worker.ready().value("items", json::array());
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].value("kind", "") != description.kind ||
          items[i].value("id", "") != description.id) {
        continue;
      }
      uint64_t mask = 0;
      for (const json& name : items[i].value("functions", json::array())) {
        for (uint16_t f = 0; f < type->functions; ++f) {
          mask |= name == type->names[f] ? uint64_t{1} << f : 0;
        }
      }
      auto out = std::make_unique<Item>(*this);
      out->target = i + 1;
      out->kind = description.kind;
      out->id = description.id;
      out->version = description.version;
      out->summary = description.summary;
      wire::Reader nothing({}, nullptr);
      wire::Receiving in(worker.shared_from_this(), nothing, out->keep, nullptr);
      const void* table = type->make(mask, nullptr, out.get(), in);
      if (const std::string fault = table_fault(description.kind, table); !fault.empty()) {
        fail(QUENCH_DATA_LOSS, "{}: its process: {}", plugin_label(description), fault);
      }
      out->item = {sizeof(quench_item),
                   0,
                   out->kind.c_str(),
                   out->id.c_str(),
                   out->version.c_str(),
                   out->summary.c_str(),
                   nullptr,
                   nullptr,
                   0,
                   nullptr,
                   table,
                   nullptr,
                   nullptr};
      return out;
    }
    fail(QUENCH_DATA_LOSS, "{}: its process does not offer it", plugin_label(description));
  }

  ServedPlugins& of_;
  const WorkerOptions& options_;
  const PluginDescription description_;
  const NewFolder scratch_{scratch_place(), NewFolder::Existing::kMayBeReplaced, 0700};
  std::recursive_mutex mutex_;
  std::shared_ptr<WorkerPeer> peer_;
  uint64_t starts_ = 0;
  int crashes_ = 0;
  std::map<std::string, std::unique_ptr<Item>> items_;
};

ServedPlugins::ServedPlugins(WorkerOptions options) : options_(std::move(options)) {
  wire::set_copy(copy_on_all_threads);
  wire::set_device_copy(copy_on_device);
}

ServedPlugins::~ServedPlugins() = default;

ServedPlugins::Module& ServedPlugins::module_of(const PluginDescription& description) {
  const std::lock_guard lock(mutex_);
  auto found = modules_.find(description.library);
  if (found == modules_.end()) {  // one that cannot be made leaves no entry
    found =
        modules_.emplace(description.library, std::make_unique<Module>(*this, description)).first;
  }
  return *found->second;
}

const quench_item& ServedPlugins::load(const PluginDescription& description) {
  try {
    return module_of(description).item(description);
  } catch (const Error& failure) {
    const std::string label = plugin_label(description);
    if (std::string_view(failure.what()).starts_with(label)) {
      throw;
    }
    fail(failure.code(), "{}: {}", label, failure.what());
  }
}

uint64_t ServedPlugins::starts(const PluginDescription& description) {
  return module_of(description).starts();
}

std::optional<pid_t> ServedPlugins::process(const PluginDescription& description) {
  return module_of(description).process();
}

json ServedPlugins::processes() const {
  std::map<std::string, uint64_t> peaks;
  std::vector<std::pair<std::string, Module*>> modules;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [library, module] : modules_) {
      modules.emplace_back(library.string(), module.get());
    }
  }
  for (const auto& [library, module] : modules) {  // not under the lock that its start takes, too
    if (const std::optional<uint64_t> peak = module->peak_memory()) {
      peaks[library] = *peak;
    }
  }
  const std::lock_guard lock(mutex_);
  json out = processes_;
  for (json& process : out) {
    const auto peak = peaks.find(process.at("module").get<std::string>());
    if (peak != peaks.end()) {
      process["peak_memory_bytes"] = peak->second;
    }
  }
  return out;
}

void ServedPlugins::note(json process) {
  const std::lock_guard lock(mutex_);
  if (std::find(processes_.begin(), processes_.end(), process) == processes_.end()) {
    processes_.push_back(std::move(process));  // one that was started again is the same
  }
}

}  // namespace quench
