#include "core/plugin/library/library.hpp"

#include <dlfcn.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/io/look.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/floating_state.hpp"
#include "core/plugin/library/provided_torch.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"

namespace quench {

namespace fs = std::filesystem;
namespace dll = boost::dll;

namespace {

// What dlerror says, or nothing at all, when there was no memory for a message.
constexpr std::string_view kLinkerHasNoMemory = "out of memory";

using Entry = const quench_module*();

Entry& entry_of(const dll::shared_library& library, const fs::path& path) {
  if (!library.has(QUENCH_ENTRY_SYMBOL)) {
    fail(QUENCH_FAILED_PRECONDITION, "has no symbol " QUENCH_ENTRY_SYMBOL);
  }
  // dlsym also finds symbols that only a dependency defines.
  Entry& entry = library.get<Entry>(QUENCH_ENTRY_SYMBOL);
  std::error_code error;
  const fs::path from = dll::symbol_location_ptr(reinterpret_cast<const void*>(&entry), error);
  if (error || !is_same_file(from, path)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "has no symbol " QUENCH_ENTRY_SYMBOL " of its own; the one that was found is {}'s",
         from.string());
  }
  return entry;
}

}  // namespace

LoadedObject load_object(const fs::path& path) {
  std::error_code error;
  auto object =
      std::make_unique<dll::shared_library>(path, error,
                                            dll::load_mode::rtld_now | dll::load_mode::rtld_local |
                                                dll::load_mode::search_system_folders);
  if (error) {  // it says only that something failed
    const char* said = dlerror();
    if (said == nullptr || std::string_view(said) == kLinkerHasNoMemory) {
      return {nullptr, std::generic_category().message(ENOMEM)};
    }
    return {nullptr, printable(said, 400)};
  }
  kFloatingStateAtStart.set();  // a library that was linked with -ffast-math changes it
  return {object.release(), ""};
}

const quench_module* open_library(const fs::path& path) {
  // Never destroyed, as what it names.
  static auto* opened = new std::map<fs::path, const quench_module*>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto found = opened->find(path); found != opened->end()) {
    return found->second;
  }
  std::error_code error;
  if (is_same_file(path, dll::program_location(error))) {
    fail(QUENCH_FAILED_PRECONDITION,
         "is the program itself");  // dlopen(NULL) would find the program's symbols
  }
  std::vector<fs::path> files = provided_torch(path);
  files.push_back(path);
  LoadedObject loaded;
  for (const fs::path& file : files) {
    loaded = load_object(file);
    if (loaded.object == nullptr) {
      fail(says_passing_fault(loaded.fault) ? QUENCH_UNAVAILABLE : QUENCH_FAILED_PRECONDITION,
           "cannot be loaded: {}", loaded.fault);
    }
  }
  const quench_module* module = entry_of(*loaded.object, path)();
  if (module == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, QUENCH_ENTRY_SYMBOL " returned NULL");
  }
  opened->emplace(path, module);
  return module;
}

void prepare_libraries() {
  bind_libraries_to(HostServices::instance().instructions());
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    setenv(name, "1", 1);
  }
  setenv("OMP_DYNAMIC", "false", 1);
}

}  // namespace quench
