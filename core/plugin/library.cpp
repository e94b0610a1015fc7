#include "core/plugin/library.hpp"

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;
namespace dll = boost::dll;

namespace {

// The linker's own message, extracted from Boost.DLL's exception.
std::string linker_message(const std::string& what) {
  constexpr std::string_view kMark = "dlerror system message: ";
  const size_t mark = what.find(kMark);
  if (mark == std::string::npos) {
    return printable(what, 400);
  }
  std::string message = what.substr(mark + kMark.size());
  if (const size_t end = message.rfind("): "); end != std::string::npos) {
    message.resize(end);  // the rest is the text of an error code that dlopen does not set
  } else if (!message.empty() && message.back() == ')') {
    message.pop_back();
  }
  return printable(message, 400);
}

std::unique_ptr<dll::shared_library> load(const fs::path& path) {
  try {
    return std::make_unique<dll::shared_library>(
        path, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  } catch (const std::system_error& failure) {
    fail(QUENCH_FAILED_PRECONDITION, "cannot be loaded: {}", linker_message(failure.what()));
  }
}

using Entry = const quench_module*();

Entry& entry_of(const dll::shared_library& library, const fs::path& path) {
  if (!library.has(QUENCH_ENTRY_SYMBOL)) {
    fail(QUENCH_FAILED_PRECONDITION, "has no symbol " QUENCH_ENTRY_SYMBOL);
  }
  // dlsym also finds symbols that only a dependency defines.
  Entry& entry = library.get<Entry>(QUENCH_ENTRY_SYMBOL);
  std::error_code error;
  const fs::path from = dll::symbol_location_ptr(reinterpret_cast<const void*>(&entry), error);
  if (error || !fs::equivalent(from, path, error)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "has no symbol " QUENCH_ENTRY_SYMBOL " of its own; the one that was found is {}'s",
         from.string());
  }
  return entry;
}

}  // namespace

const quench_module* open_library(const fs::path& path) {
  struct Opened {
    std::unique_ptr<dll::shared_library> library;
    const quench_module* module;
  };
  // Never destroyed: code and constants of a plugin live until the process ends.
  static auto* opened = new std::map<fs::path, Opened>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto found = opened->find(path); found != opened->end()) {
    return found->second.module;
  }
  std::error_code error;
  if (fs::equivalent(path, dll::program_location(error), error)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "is the program itself");  // dlopen(NULL) would find the program's symbols
  }
  auto library = load(path);
  auto* kept = library.release();  // even if the rest fails: the library may have threads by now
  const quench_module* module = entry_of(*kept, path)();
  if (module == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, QUENCH_ENTRY_SYMBOL " returned NULL");
  }
  opened->emplace(path, Opened{std::unique_ptr<dll::shared_library>(kept), module});
  return module;
}

}  // namespace quench
