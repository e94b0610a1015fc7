#include "tests/support/plugin_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

std::atomic<uint32_t> task_threads{1};

uint32_t threads(const quench_host*) noexcept {
  return task_threads;
}

// Ranges go to whichever thread is free, so what depends on their order shows.
quench_status parallel_for(const quench_host*, uint64_t count, uint64_t grain,
                           quench_status (*body)(void*, uint64_t, uint64_t) noexcept,
                           void* user) noexcept {
  std::atomic<uint64_t> next{0};
  std::atomic<quench_status> status{QUENCH_OK};
  const auto work = [&] {
    for (;;) {
      const uint64_t begin = next.fetch_add(grain);
      if (begin >= count || status != QUENCH_OK) {
        return;
      }
      const quench_status own = body(user, begin, std::min(count, begin + grain));
      if (own != QUENCH_OK) {
        status = own;
      }
    }
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < task_threads; ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  return status;
}

constexpr quench_tasks kTasks = {sizeof kTasks, threads, parallel_for};

const void* find_service(const quench_host*, const char* id) noexcept {
  if (std::strcmp(id, QUENCH_SERVICE_TASKS) == 0) {
    return &kTasks;
  }
  return test_host()->service(test_host(), id);
}

constexpr quench_host kHost = {sizeof kHost, QUENCH_ABI_MINOR, nullptr, "test", find_service};

const quench_module& load(const std::filesystem::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw std::runtime_error(dlerror());
  }
  using Entry = const quench_module* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, QUENCH_ENTRY_SYMBOL));
  if (entry == nullptr) {
    throw std::runtime_error(library.string() + ": no " QUENCH_ENTRY_SYMBOL);
  }
  const quench_module& module = *entry();
  if (module.abi_major != QUENCH_ABI_MAJOR || module.abi_minor != QUENCH_ABI_MINOR) {
    throw std::runtime_error(library.string() + ": built for another ABI");
  }
  static std::set<std::string> initialized;
  if (initialized.insert(std::filesystem::canonical(library).string()).second) {
    quench_error error{sizeof error, 0, {}};
    if (module.init(&kHost, &error) != QUENCH_OK) {
      throw std::runtime_error(library.string() + ": init: " + error.message);
    }
  }
  return module;
}

}  // namespace

const quench_item& plugin_item(const std::filesystem::path& library, const std::string& kind) {
  const quench_module& module = load(library);
  const quench_item* found = nullptr;
  for (uint32_t i = 0; i < module.item_count; ++i) {
    if (module.items[i]->kind == kind) {
      if (found != nullptr) {
        throw std::runtime_error(library.string() + ": two items of kind " + kind);
      }
      found = module.items[i];
    }
  }
  if (found == nullptr) {
    throw std::runtime_error(library.string() + ": no item of kind " + kind);
  }
  return *found;
}

std::string complete_parameters(const quench_item& item, const nlohmann::json& given) {
  nlohmann::json complete = nlohmann::json::object();
  nlohmann::json preset = nlohmann::json::object();
  if (item.presets_json != nullptr && given.contains("preset")) {
    preset = nlohmann::json::parse(item.presets_json)
                 .value(given["preset"].get<std::string>(), nlohmann::json::object());
  }
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    const quench_parameter& parameter = item.parameters[i];
    if (given.contains(parameter.name)) {
      complete[parameter.name] = given[parameter.name];
    } else if (preset.contains(parameter.name)) {
      complete[parameter.name] = preset[parameter.name];
    } else if (parameter.default_json != nullptr) {
      complete[parameter.name] = nlohmann::json::parse(parameter.default_json);
    } else {
      throw std::runtime_error(std::string(item.id) + ": parameter " + parameter.name +
                               " is required");
    }
  }
  for (const auto& [name, value] : given.items()) {
    if (!complete.contains(name)) {
      throw std::runtime_error(std::string(item.id) + ": no parameter " + name);
    }
  }
  return complete.dump();
}

void set_task_threads(uint32_t count) {
  task_threads = count;
}

}  // namespace quench::test
