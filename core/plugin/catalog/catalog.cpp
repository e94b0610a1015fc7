#include "core/plugin/catalog/catalog.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/io/file.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/catalog/library_probes.hpp"
#include "core/plugin/catalog/probe_cache.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/catalog/shipped_descriptions.hpp"
#include "core/plugin/catalog/worker_file.hpp"
#include "core/plugin/library/device_part.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/library/links.hpp"
#include "core/plugin/library/module_reader.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Why such a file has a process of its own whatever is asked for; "" of a library.
std::string always_own(const PluginDescription& item) {
  return is_python_file(item.library)   ? "written in Python"
         : is_worker_file(item.library) ? "a program of its own"
                                        : "";
}

// The modules of this process, in the order of loading, for the shutdown.
struct Live {
  std::mutex mutex;
  std::map<fs::path, std::pair<const quench_module*, std::vector<PluginDescription>>> modules;
  std::vector<const quench_module*> order;
};

Live& live() {
  static auto* state = new Live;  // outlives static destructors
  return *state;
}

void check_bytes(const PluginDescription& description, const std::string& sha256) {
  if (sha256 != description.sha256) {
    fail(QUENCH_DATA_LOSS,
         "{}: {} is not the file that was probed (sha256 {} then, {} now); run the command again",
         plugin_label(description), description.library.string(), description.sha256.substr(0, 12),
         sha256.substr(0, 12));
  }
}

// The linker would silently give it what this process has under that name, and with it another
// version than it was built for.
void check_links(const PluginDescription& description) {
  const std::string clash = link_conflict(description.links, loaded_libraries());
  if (!clash.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}: {}", plugin_label(description),
         description.library.string(), clash);
  }
}

// Loads, initializes and registers the module of a library.
const quench_module* bring_up(const PluginDescription& description, quench_device device,
                              quench_device expected, const std::function<void()>& before_loading) {
  Live& state = live();
  if (state.modules.empty()) {
    if (before_loading) {
      before_loading();
    }
    prepare_libraries();
  }
  const File file(description.library);
  check_bytes(description, sha256_of(file));
  check_links(description);
  if (device.type != QUENCH_DEVICE_CPU) {
    load_device_part(description.links, device);
  } else if (expected.type != QUENCH_DEVICE_CPU) {
    load_device_part_if_there(description.links);
  }
  const std::string label = plugin_label(description);
  const std::string where = label + ": " + description.library.string();
  try {
    const quench_module* module =
        guarded_call(label, "load", {}, open_library, description.library);
    // The linker opened the file by name; it must still be the file that was hashed.
    if (File(description.library).identity() != file.identity()) {
      fail(QUENCH_DATA_LOSS, "was replaced while it was loaded");
    }
    note_running_code(label, file, description.sha256);
    std::vector<PluginDescription> items = read_module(*module);
    quench_error error{sizeof(quench_error), 0, {}};
    const quench_status status = guarded_call(
        label, "init", {}, module->init, HostServices::instance().host_for(module->id), &error);
    if (status != QUENCH_OK) {
      throw_status("init", "init", status, error);
    }
    state.modules.emplace(description.library, std::pair(module, std::move(items)));
    state.order.push_back(module);
    return module;
  } catch (const Error& failure) {
    fail(failure.code(), "{}: {}", where, failure.what());
  }
}

auto sort_key(const PluginDescription& item) {
  return std::tie(item.kind, item.id);
}

}  // namespace

Catalog::Catalog(CatalogOptions options)
    : options_(std::move(options)), installed_(own_plugins(options_.self)) {
  if (options_.python.package.empty()) {
    options_.python.package = own_python(options_.self);
  }
  const std::vector<fs::path> libraries =
      find_libraries(options_.search_path, trusted_with_plugins(options_.self),
                     [&](const fs::path& path, const std::string& why) {
                       rejected_.push_back({path, why, says_passing_fault(why)});
                     });
  KnownLibraries known = know_libraries(libraries, options_, rejected_);
  probe_count_ = known.asked;
  for (ProbeEntry& entry : known.usable) {
    add_library(std::move(entry));
  }
  std::sort(items_.begin(), items_.end(),
            [](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
}

void Catalog::add_library(ProbeEntry entry) {
  nlohmann::json code = entry.code;
  // A build id is what the linker was told, and a patch leaves it: of a library from elsewhere the
  // bytes count, too.
  if (code.contains("build_id") && !is_shipped(entry.items.front())) {
    code["sha256"] = entry.sha256;
  }
  if (options_.counts_as) {
    code = options_.counts_as(code);
  }
  for (PluginDescription& item : entry.items) {
    item.code = code;
    item.declared = is_worker_file(item.library) ? files_of_worker(entry.code, item.library)
                                                 : files_of_python(entry.code, item.library);
    if (const PluginDescription* first = find(item.kind, item.id); first != nullptr) {
      shadowed_.push_back({std::move(item), first->library});
    } else {
      items_.push_back(std::move(item));
    }
  }
}

const PluginDescription* Catalog::find(const std::string& kind, const std::string& id) const {
  for (const PluginDescription& item : items_) {
    if (item.kind == kind && item.id == id) {
      return &item;
    }
  }
  return nullptr;
}

std::vector<std::string> Catalog::replaced() const {
  std::vector<std::string> out;
  for (const Shadowed& shadowed : shadowed_) {
    if (is_shipped(shadowed.item)) {
      out.push_back(fmt::format("{} is that of {}, not the one that came with quench",
                                plugin_label(shadowed.item), shadowed.by.string()));
    }
  }
  return out;
}

std::string Catalog::rejected_of(const std::string& kind,
                                 const std::vector<std::string>& names) const {
  constexpr size_t kShown = 3;
  std::string out;
  size_t shown = 0;
  for (const Rejected& rejected : rejected_) {
    const fs::path& file = rejected.library;
    const bool named = std::find(names.begin(), names.end(), file.stem()) != names.end() ||
                       file.parent_path().filename().string().starts_with(kind);
    if ((rejected.passing || named) && shown++ < kShown) {
      out += fmt::format("; {} was rejected: {}", file.string(), rejected.reason);
    }
  }
  return shown > kShown ? out + fmt::format("; and {} more", shown - kShown) : out;
}

namespace {

// The plugin whose summary has the word, as what it measures or does may be known by that name;
// nullptr if there are none or several.
const PluginDescription* that_tells_of(const std::string& word,
                                       const std::vector<const PluginDescription*>& plugins) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const PluginDescription* out = nullptr;
  for (const PluginDescription* plugin : plugins) {
    const std::string& text = plugin->summary;
    const size_t at = word.size() < 3 ? std::string::npos : text.find(word);
    const size_t end = at + word.size();
    if (at == std::string::npos || (at > 0 && is_letter(text[at - 1])) ||
        (end < text.size() && is_letter(text[end]))) {
      continue;
    }
    if (out != nullptr) {
      return nullptr;
    }
    out = plugin;
  }
  return out;
}

}  // namespace

const PluginDescription& Catalog::require(const std::string& kind, const std::string& id) const {
  if (const PluginDescription* found = find(kind, id); found != nullptr) {
    return *found;
  }
  std::vector<std::string> ids;
  for (const PluginDescription* item : of_kind(kind)) {
    ids.push_back(item->id);
  }
  std::string message = fmt::format("no {} is called {}", kind, printable(id));
  if (const std::string near = nearest(id, ids); !near.empty()) {
    message += fmt::format("; did you mean {}?", near);
  } else if (const PluginDescription* told = that_tells_of(id, of_kind(kind))) {
    const size_t end = told->summary.find_last_not_of('.') + 1;
    message +=
        fmt::format("; there is {}: {}", told->id, printable(told->summary.substr(0, end), 400));
  } else if (!ids.empty()) {
    message += fmt::format("; there are {}", fmt::join(ids, ", "));
  }
  bool passing = false;
  bool named = false;
  for (const Rejected& rejected : rejected_) {
    // What a folder that could not be listed holds is not known.
    const bool may_hold_it = rejected.passing && rejected.library.extension() != ".so" &&
                             !is_python_file(rejected.library) && !is_worker_file(rejected.library);
    if (rejected.library.stem() != id && !may_hold_it) {
      continue;
    }
    named = true;
    const std::string reason =
        rejected.timed_out ? ask_again(options_, rejected.library) : rejected.reason;
    message += fmt::format("; {} {}", rejected.library.string(),
                           reason.empty() ? "did not answer in time before and does now: try again"
                                          : "was rejected: " + reason);
    passing = passing || rejected.passing;
  }
  std::vector<std::string> folders;
  for (const fs::path& folder : options_.search_path) {
    folders.push_back(folder.string());
  }
  std::string rejected;
  if (!named && !rejected_.empty()) {
    rejected = fmt::format("; rejected: {}, and `quench plugins why {}` says why",
                           rejected_.size() == 1 ? rejected_.front().library.string()
                                                 : fmt::format("{} files", rejected_.size()),
                           printable(id));
  }
  fail(passing ? QUENCH_UNAVAILABLE : QUENCH_NOT_FOUND, "{}; looked in {}{}{}", message,
       fmt::join(folders, ", "), rejected,
       is_whole() ? "" : "; not all plugins are built: ./dev build makes the others");
}

bool Catalog::is_whole() const {
  return are_all_built(own_plugins(options_.self));
}

std::vector<const PluginDescription*> Catalog::of_kind(const std::string& kind) const {
  std::vector<const PluginDescription*> found;
  for (const PluginDescription& item : items_) {
    if (item.kind == kind) {
      found.push_back(&item);
    }
  }
  return found;
}

bool Catalog::is_shipped(const PluginDescription& description) const {
  return installed_.has(description.library);
}

std::string Catalog::in_process_fault(const std::string& name) const {
  std::vector<std::string> ids;
  for (const PluginDescription& item : items_) {
    ids.push_back(item.id);
    if (names(name, item)) {
      const std::string is_own = always_own(item);
      return is_own.empty() ? ""
                            : fmt::format("{} is {} and runs in a process of its own",
                                          plugin_label(item), is_own);
    }
  }
  const std::string near = nearest(name, ids);
  return fmt::format("no plugin is called {}{}", printable(name),
                     near.empty() ? "" : "; did you mean " + near + "?");
}

Placed Catalog::placed(const PluginDescription& description) const {
  if (std::string is_own = always_own(description); !is_own.empty()) {
    return {Placement::kOwn, std::move(is_own)};
  }
  if (!options_.load_in_worker || is_shipped(description)) {
    return {};
  }
  const auto is_named = [&](const std::string& name) {
    return names(name, description) ||
           std::any_of(items_.begin(), items_.end(), [&](const PluginDescription& item) {
             return item.library == description.library && names(name, item);
           });
  };
  const auto& [command_line, manifest] = in_process_;
  if (std::any_of(command_line.begin(), command_line.end(), is_named)) {
    return {Placement::kShared, "`--in-process`"};
  }
  if (std::any_of(manifest.begin(), manifest.end(), is_named)) {
    return {Placement::kShared, "`in_process` of the manifest"};
  }
  return {Placement::kOwn, "not part of this installation"};
}

void Catalog::compute_on(quench_device device, const char* driver) {
  require_device(device, driver);
  if (device.type == QUENCH_DEVICE_CPU) {
    return;
  }
  installed_.hold_kernels();
  const auto has_part = [&](const PluginDescription& item) {
    return is_shipped(item) && device_part(item.links);
  };
  const auto first = std::find_if(items_.begin(), items_.end(), has_part);
  if (first != items_.end()) {
    require_device_part(first->links, device);
  }
  device_ = device;
}

uint64_t Catalog::starts(const PluginDescription& description) const {
  return options_.starts_in_worker && placed(description).placement == Placement::kOwn
             ? options_.starts_in_worker(description)
             : 0;
}

const quench_item& Catalog::load(const PluginDescription& description) {
  const Placed where = placed(description);
  if (where.placement == Placement::kOwn) {
    if (!options_.load_in_worker) {
      fail(QUENCH_UNSUPPORTED, "{}: {} asks for a process of its own, and this program starts none",
           plugin_label(description), where.reason);
    }
    return options_.load_in_worker(description);
  }
  Live& state = live();
  const std::lock_guard lock(state.mutex);
  const auto known = state.modules.find(description.library);
  const quench_module* module =
      known != state.modules.end()
          ? known->second.first
          : bring_up(description, device_, expected_, options_.before_loading);
  const std::vector<PluginDescription>& items = state.modules.at(description.library).second;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == description.kind && items[i].id == description.id) {
      if (description_to_json(items[i]) != description_to_json(description)) {
        fail(QUENCH_DATA_LOSS, "{}: {} describes it differently than when it was probed",
             plugin_label(description), description.library.string());
      }
      return item_of(*module, static_cast<uint32_t>(i));
    }
  }
  fail(QUENCH_DATA_LOSS, "{}: {} does not offer it any more", plugin_label(description),
       description.library.string());
}

void forget_probes(const fs::path& cache_dir) {
  std::error_code error;
  fs::remove(ProbeCache::file_in(cache_dir), error);
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}", ProbeCache::file_in(cache_dir).string(),
         error.message());
  }
}

void shutdown_plugins() {
  Live& state = live();
  const std::lock_guard lock(state.mutex);
  for (; !state.order.empty(); state.order.pop_back()) {
    if (state.order.back()->shutdown != nullptr) {
      const PluginCall call(state.order.back()->id, "shutdown");
      state.order.back()->shutdown();
    }
  }
}

}  // namespace quench
